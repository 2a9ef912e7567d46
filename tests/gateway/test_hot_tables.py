"""What every governed call writes carries no index that nobody reads (issue 4)."""

from __future__ import annotations

import pytest
from django.db import connection

from gateway.models import Evidence, ToolCall

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL adds the indexes"),
]


@pytest.mark.parametrize("table", [ToolCall._meta.db_table, Evidence._meta.db_table])
def test_no_index_repeats_the_beginning_of_another(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid::regclass::text, indkey::int[], indisunique FROM pg_index"
            " WHERE indrelid = %s::regclass AND indpred IS NULL",
            [table],
        )
        found = cursor.fetchall()
    repeated = [
        name
        for name, columns, unique in found
        if not unique
        and any(other[: len(columns)] == columns for its, other, _ in found if its != name)
    ]
    assert len(found) >= 3, "the query finds the table's indexes"
    assert not repeated
