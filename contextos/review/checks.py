"""Start-up check: every table of reviewed versions and of their contents has its triggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from contextos.review import frozen_contents, immutability


@register(Tags.database)
def frozen_triggers_stand(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """review.E001 for each table that could be edited; tables not migrated yet are no fault."""
    return [
        Error(
            f"{table} can be edited on database {alias!r}: no {', '.join(sorted(missing))}.",
            hint="Run `manage.py migrate`; a migration that rebuilds a table repeats its freezing.",
            id="review.E001",
        )
        for alias in databases or ()
        for table, missing in _unprotected(alias)
    ]


def _unprotected(alias: str) -> list[tuple[str, frozenset[str]]]:
    connection = connections[alias]
    present = set(connection.introspection.table_names())
    versions = [
        (table, immutability.missing_triggers(connection, table))
        for table in immutability.frozen_tables()
        if table in present
    ]
    contents = [
        (table, frozen_contents.missing_triggers(connection, table))
        for table in frozen_contents.frozen_with_version()
        if table in present
    ]
    return [(table, missing) for table, missing in [*versions, *contents] if missing]
