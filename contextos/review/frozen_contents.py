"""Freezes the rows that index a version together with it: findings can't vanish before a review."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.operations.base import Operation

from audit.append_only import collisions_on_sqlite, standing_triggers
from contextos.review.immutability import MESSAGE
from contextos.review.states import VersionState

_DRAFT = VersionState.DRAFT.value


class FrozenWithVersion(Operation):
    """Migration operation: rows of a submitted version stay, but for the columns named `mutable`.

    `parent` is the table of versions, to which the column `version_id` refers. On SQLite repeat the
    operation after a migration that rebuilds the table.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, table: str, parent: str, mutable: tuple[str, ...] = ()) -> None:
        self.table = table
        self.parent = parent
        self.mutable = mutable

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """As every operation: its name and arguments."""
        return type(self).__name__, [self.table, self.parent, self.mutable], {}

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Triggers are no part of the models' state."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Put the triggers up."""
        install(schema_editor.connection, self.table, self.parent, self.mutable)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Take the triggers down."""
        remove(schema_editor.connection, self.table)

    def describe(self) -> str:
        """Shown by `migrate --plan`."""
        return f"Freeze rows of {self.table} with their version"


def frozen_with_version() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Table -> (table of its versions, columns that may change): each model that says which."""
    return {
        model._meta.db_table: (
            model._meta.get_field("version").related_model._meta.db_table,  # type: ignore[union-attr]
            model.mutable_once_submitted,
        )
        for model in apps.get_models()
        if hasattr(model, "mutable_once_submitted")
    }


def trigger_names(table: str) -> frozenset[str]:
    """The triggers that freeze a table of contents."""
    return frozenset(f"{table}_kept_{event}" for event in ("insert", "update", "delete"))


def missing_triggers(connection: BaseDatabaseWrapper, table: str) -> frozenset[str]:
    """The triggers that should stand on a table and do not, or are switched off."""
    return trigger_names(table) - standing_triggers(connection, table)


def install(
    connection: BaseDatabaseWrapper, table: str, parent: str, mutable: tuple[str, ...]
) -> None:
    """Create the triggers; those that stand already are made anew."""
    remove(connection, table)
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, table)
        frozen = sorted({column.name for column in described} - set(mutable))
        for statement in _statements(connection, table, parent, frozen):
            cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper, table: str) -> None:
    """Drop the triggers, for the reverse of the migration."""
    on_table = f' ON "{table}"' if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in trigger_names(table):
            cursor.execute(f'DROP TRIGGER IF EXISTS "{name}"{on_table}')


def _statements(
    connection: BaseDatabaseWrapper, table: str, parent: str, frozen: list[str]
) -> list[str]:
    if connection.vendor == "postgresql":
        return _postgresql(table, parent, frozen)
    if connection.vendor == "sqlite":
        return _sqlite(table, parent, frozen, collisions_on_sqlite(connection, table))
    # No triggers written for it means no protection: better to stop than to pretend.
    raise RuntimeError(f"frozen tables are not available on {connection.vendor}")


def _postgresql(table: str, parent: str, frozen: list[str]) -> list[str]:
    function = f"{parent}_contents_frozen"
    text = MESSAGE.replace("'", "''")
    changed = " OR ".join(f'OLD."{name}" IS DISTINCT FROM NEW."{name}"' for name in frozen)
    when = {"insert": "", "update": f"WHEN ({changed}) ", "delete": ""}
    body = (
        f'BEGIN IF EXISTS (SELECT 1 FROM "{parent}" AS parent '  # noqa: S608
        f"WHERE parent.state <> '{_DRAFT}' AND ("
        "(TG_OP <> 'INSERT' AND parent.version_id = OLD.version_id) OR "
        "(TG_OP <> 'DELETE' AND parent.version_id = NEW.version_id))) THEN "
        f"RAISE EXCEPTION '{text}' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
        "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END"
    )
    return [
        (
            f'CREATE OR REPLACE FUNCTION "{function}"() RETURNS trigger LANGUAGE plpgsql '
            f"AS $body$ {body} $body$"
        ),
        *(
            f'CREATE TRIGGER "{table}_kept_{event}" BEFORE {event.upper()} ON "{table}" '
            f'FOR EACH ROW {condition}EXECUTE FUNCTION "{function}"()'
            for event, condition in when.items()
        ),
    ]


def _sqlite(table: str, parent: str, frozen: list[str], collisions: tuple[str, ...]) -> list[str]:
    refusal = f"SELECT RAISE(ABORT, '{MESSAGE.replace(chr(39), chr(39) * 2)}')"
    changed = " OR ".join(f'OLD."{name}" IS NOT NEW."{name}"' for name in frozen)
    # INSERT or UPDATE OR REPLACE removes the row it collides with without firing a delete trigger.
    taken = " OR ".join(f"({collision})" for collision in collisions)
    replaced = f'SELECT version_id FROM "{table}" WHERE ({taken})'  # noqa: S608
    when = {
        "insert": f"{_submitted(parent, 'NEW.version_id')} OR {_submitted(parent, replaced)}",
        "update": (
            f"(({changed}) AND {_submitted(parent, 'OLD.version_id, NEW.version_id')}) "
            f"OR {_submitted(parent, f'{replaced} AND rowid <> OLD.rowid')}"
        ),
        "delete": _submitted(parent, "OLD.version_id"),
    }
    return [
        f'CREATE TRIGGER "{table}_kept_{event}" BEFORE {event.upper()} ON "{table}" '
        f"FOR EACH ROW WHEN {condition} BEGIN {refusal}; END"
        for event, condition in when.items()
    ]


def _submitted(parent: str, version_ids: str) -> str:
    return (
        f'EXISTS (SELECT 1 FROM "{parent}" AS parent '  # noqa: S608
        f"WHERE parent.state <> '{_DRAFT}' AND parent.version_id IN ({version_ids}))"
    )
