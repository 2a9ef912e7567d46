"""Freezes what was submitted: triggers that let only the lifecycle columns of a version change.

They also hold the lifecycle itself: a row is born a draft, its state moves only along the table of
`states.py`, and what is written once (the signature, the dates of submission and decision) stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.operations.base import Operation

from audit.append_only import collisions_on_sqlite, standing_triggers
from contextos.review.models import ReviewedVersion
from contextos.review.states import LIFECYCLE, VersionState

MESSAGE = "a submitted version can't be edited or removed; make a new version"
# What the lifecycle itself writes. Everything else is the document and its authors.
LIFECYCLE_COLUMNS = (
    "state",
    "submitted_at",
    "decided_at",
    "published_at",
    "published_by",
    "publication_notes",
    "ended_at",
    "envelope",
    "shadow",  # where a kind has it: published to watch first, then to decide
)
WRITTEN_ONCE = ("submitted_at", "decided_at", "envelope")
_DRAFT = VersionState.DRAFT.value
_EVENTS = {"postgresql": ("insert", "update", "delete", "truncate")}
_EVENTS_ELSEWHERE = ("insert", "update", "delete")


class FrozenOnceSubmitted(Operation):
    """Migration operation: rows that left the draft state keep all but their lifecycle columns.

    What is settled at submission is written by the very update that submits. On SQLite an altered
    table is rebuilt and loses its triggers; repeat the operation after such a migration.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, table: str) -> None:
        self.table = table

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """As every operation: its name and arguments."""
        return type(self).__name__, [self.table], {}

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Triggers are no part of the models' state."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Put the triggers up."""
        install(schema_editor.connection, self.table)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Take the triggers down."""
        remove(schema_editor.connection, self.table)

    def describe(self) -> str:
        """Shown by `migrate --plan`."""
        return f"Freeze submitted rows of {self.table}"


def frozen_tables() -> tuple[str, ...]:
    """The tables of every kind of reviewed version."""
    found = (model for model in apps.get_models() if issubclass(model, ReviewedVersion))
    return tuple(sorted(model._meta.db_table for model in found))


def trigger_names(table: str, vendor: str) -> frozenset[str]:
    """The triggers that freeze a table on one kind of database."""
    return frozenset(f"{table}_frozen_{event}" for event in _events(vendor))


def missing_triggers(connection: BaseDatabaseWrapper, table: str) -> frozenset[str]:
    """The triggers that should stand on a table and do not, or are switched off."""
    return trigger_names(table, connection.vendor) - standing_triggers(connection, table)


def install(connection: BaseDatabaseWrapper, table: str) -> None:
    """Create the triggers; those that stand already are made anew."""
    remove(connection, table)
    refused = _refused_update(connection, table)
    if connection.vendor == "postgresql":
        statements = _postgresql(table, refused)
    elif connection.vendor == "sqlite":
        statements = _sqlite(table, refused, collisions_on_sqlite(connection, table))
    else:  # no triggers written for it means no protection: better to stop than to pretend
        raise RuntimeError(f"frozen tables are not available on {connection.vendor}")
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper, table: str) -> None:
    """Drop the triggers, for the reverse of the migration."""
    on_table = f' ON "{table}"' if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in trigger_names(table, connection.vendor):
            cursor.execute(f'DROP TRIGGER IF EXISTS "{name}"{on_table}')


# --- conditions, alike on both databases ---------------------------------------------------------
def _refused_update(connection: BaseDatabaseWrapper, table: str) -> str:
    differs = "IS DISTINCT FROM" if connection.vendor == "postgresql" else "IS NOT"
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, table)
    columns = {column.name for column in described}
    frozen = sorted(columns - set(LIFECYCLE_COLUMNS))
    changed = [f'OLD."{name}" {differs} NEW."{name}"' for name in frozen]
    changed += [
        f'(OLD."{name}" IS NOT NULL AND OLD."{name}" {differs} NEW."{name}")'
        for name in WRITTEN_ONCE
    ]
    return f"{_refused_step()} OR (OLD.state <> '{_DRAFT}' AND ({' OR '.join(changed)}))"


def _refused_step() -> str:
    steps = " OR ".join(
        f"(OLD.state = '{source}' AND NEW.state IN ({_quoted(sorted(targets))}))"
        for source, targets in sorted(LIFECYCLE.transitions.items())
        if targets
    )
    return f"(OLD.state <> NEW.state AND NOT ({steps}))"


def _quoted(values: Sequence[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)


def _events(vendor: str) -> tuple[str, ...]:
    return _EVENTS.get(vendor, _EVENTS_ELSEWHERE)


# --- statements ----------------------------------------------------------------------------------
def _postgresql(table: str, refused_update: str) -> list[str]:
    function = f"{table}_frozen"
    text = MESSAGE.replace("'", "''")
    conditions = {
        "insert": f"FOR EACH ROW WHEN (NEW.state <> '{_DRAFT}')",
        "update": f"FOR EACH ROW WHEN ({refused_update})",
        "delete": f"FOR EACH ROW WHEN (OLD.state <> '{_DRAFT}')",
        "truncate": "FOR EACH STATEMENT",
    }
    triggers = [
        f'CREATE TRIGGER "{table}_frozen_{event}" BEFORE {event.upper()} ON "{table}" '
        f'{conditions[event]} EXECUTE FUNCTION "{function}"()'
        for event in _events("postgresql")
    ]
    return [
        (
            f'CREATE OR REPLACE FUNCTION "{function}"() RETURNS trigger LANGUAGE plpgsql AS $body$ '
            f"BEGIN RAISE EXCEPTION '{text}' "
            "USING ERRCODE = 'integrity_constraint_violation'; END $body$"
        ),
        *triggers,
    ]


def _sqlite(table: str, refused_update: str, collisions: Sequence[str]) -> list[str]:
    refusal = f"SELECT RAISE(ABORT, '{MESSAGE.replace(chr(39), chr(39) * 2)}')"
    # INSERT or UPDATE OR REPLACE removes the row it collides with without firing a delete trigger.
    taken = " OR ".join(f"({collision})" for collision in collisions)
    frozen = f"SELECT 1 FROM \"{table}\" WHERE state <> '{_DRAFT}' AND ({taken})"  # noqa: S608
    conditions = {
        "insert": f"NEW.state <> '{_DRAFT}' OR EXISTS ({frozen})",
        "update": f"{refused_update} OR EXISTS ({frozen} AND rowid <> OLD.rowid)",
        "delete": f"OLD.state <> '{_DRAFT}'",
    }
    return [
        f'CREATE TRIGGER "{table}_frozen_{event}" BEFORE {event.upper()} ON "{table}" '
        f"FOR EACH ROW WHEN {conditions[event]} BEGIN {refusal}; END"
        for event in _events("sqlite")
    ]
