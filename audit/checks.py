"""Start-up check: every table that must only grow has its triggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution
from django.db import connections

from audit import keeping_triggers
from audit.append_only import missing_triggers, protected_tables, standing_triggers
from audit.partitions import unprepared_months


@register(Tags.database)
def append_only_triggers_stand(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """audit.E001 for each unprotected table; tables not migrated yet are no fault."""
    return [
        Error(
            f"{table} can be changed on database {alias!r}: no {', '.join(sorted(missing))}.",
            hint="Run `manage.py migrate`; a migration that rebuilds a table repeats AppendOnly.",
            id="audit.E001",
        )
        for alias in databases or ()
        for table, missing in _unprotected(alias)
    ]


def _unprotected(alias: str) -> list[tuple[str, frozenset[str]]]:
    connection = connections[alias]
    present = set(connection.introspection.table_names())
    found = [
        (table, missing_triggers(connection, table))
        for table in protected_tables()
        if table in present
    ]
    found += [
        (table, names - standing_triggers(connection, table))
        for table, names in keeping_triggers.trigger_names().items()
        if table in present
    ]
    return [(table, missing) for table, missing in found if missing]


@register(Tags.database)
def months_are_prepared(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """audit.W001 where the partition of this month or the next is missing on PostgreSQL."""
    return [
        Caution(
            f"{name} is missing on database {alias!r}.",
            hint="Let the beat run, or run `manage.py shell -c 'from audit.partitions import "
            "ensure_partitions; ensure_partitions()'`. Rows are kept safely meanwhile.",
            id="audit.W001",
        )
        for alias in databases or ()
        for name in unprepared_months(connection=connections[alias])
    ]
