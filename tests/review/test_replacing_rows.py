"""SQLite's OR REPLACE removes rows without asking a delete trigger; submitted ones stay."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from registry.models import AdapterVersion, Finding
from tests.registry.house import House
from tests.registry.manifests import orders, refunds, with_warning

TABLE = "registry_adapterversion"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite knows OR REPLACE"),
]


def refused(statement: str, *values: Any) -> None:
    with (
        pytest.raises(DatabaseError, match="can't be edited or removed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, values)


def rowid_of(version: AdapterVersion) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT rowid FROM {TABLE} WHERE version_id = %s", [version.pk])
        return int(cursor.fetchone()[0])


@pytest.mark.proves("B2")
def test_a_draft_can_not_take_the_place_of_a_published_version(house: House) -> None:
    published, draft = house.published(orders()), house.draft(refunds())
    update = f"UPDATE OR REPLACE {TABLE} SET"
    refused(f"{update} version_id = %s WHERE version_id = %s", published.pk, draft.pk)
    refused(f"{update} rowid = %s WHERE version_id = %s", rowid_of(published), draft.pk)
    refused(
        f"{update} adapter_id = %s, environment = %s, version = %s WHERE version_id = %s",
        published.adapter_id,
        published.environment,
        published.version,
        draft.pk,
    )
    assert AdapterVersion.objects.filter(pk=published.pk, state="published").exists()


@pytest.mark.proves("B2")
def test_publishing_by_sql_does_not_remove_what_is_published(house: House) -> None:
    first = house.published(orders())
    second = house.approved(orders(version="1.1.0"))
    refused(
        f"UPDATE OR REPLACE {TABLE} SET state = 'published', envelope = '{{}}' "
        "WHERE version_id = %s",
        second.pk,
    )
    assert AdapterVersion.objects.filter(pk=first.pk, state="published").exists()


@pytest.mark.proves("B2")
def test_a_finding_under_review_can_not_be_replaced(house: House) -> None:
    reviewed, draft = house.in_review(with_warning()), house.draft(with_warning(version="9.0.0"))
    kept, other = (Finding.objects.filter(version=v).first() for v in (reviewed, draft))
    assert kept is not None
    assert other is not None
    refused("UPDATE OR REPLACE registry_finding SET id = %s WHERE id = %s", kept.pk, other.pk)
    assert Finding.objects.filter(pk=kept.pk, version=reviewed).exists()
