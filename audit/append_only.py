"""Tables that only grow: triggers for PostgreSQL and SQLite, as a migration operation and a check.

What they refuse: UPDATE, DELETE, TRUNCATE, and every form of replacing a row (`INSERT OR REPLACE`
on SQLite skips delete triggers, so inserting over an existing key is refused as well). What no
trigger can refuse is an owner of the database who drops the trigger; the Merkle log is for that.
A table partitioned later needs the operation on every partition: TRUNCATE of one does not fire the
parent's trigger.

One door leads out (ADR 0015): where a table has a `door`, the column that names a row in the log,
a row may be deleted once its tombstone stands in audit_purgedleaf. What may get a tombstone is
decided by the triggers of `audit.keeping_triggers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.operations.base import Operation

MESSAGE = "rows of this table can't be changed or removed"
_PG_FUNCTION = "contextos_append_only"
TOMBSTONES = "audit_purgedleaf"


def trigger_names(table: str, vendor: str) -> frozenset[str]:
    """The triggers that make a table append-only on one kind of database."""
    return frozenset(_statements(table, vendor, collisions=()))


def install(connection: BaseDatabaseWrapper, table: str, *, door: str = "") -> None:
    """Create the triggers; those that stand already are made anew."""
    remove(connection, table)
    collisions = collisions_on_sqlite(connection, table)
    statements = _statements(table, connection.vendor, collisions=collisions, door=door)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_pg_function(door))
        for statement in statements.values():
            cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper, table: str) -> None:
    """Drop the triggers, for the reverse of the migration."""
    on_table = f" ON {_quote(table)}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for name in trigger_names(table, connection.vendor):
            cursor.execute(f"DROP TRIGGER IF EXISTS {_quote(name)}{on_table}")


def missing_triggers(connection: BaseDatabaseWrapper, table: str) -> frozenset[str]:
    """The triggers that should stand on a table and do not, or are switched off."""
    return trigger_names(table, connection.vendor) - standing_triggers(connection, table)


def protected_tables() -> tuple[str, ...]:
    """The tables of every model that says `append_only = True`."""
    found = (model for model in apps.get_models() if getattr(model, "append_only", False))
    return tuple(sorted(model._meta.db_table for model in found))


class AppendOnly(Operation):
    """Migration operation: from here on the table only grows.

    On SQLite an altered table is rebuilt and loses its triggers; repeat the operation at the end of
    such a migration. `audit.E001` finds a forgotten one.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, table: str, door: str = "") -> None:
        self.table = table
        self.door = door

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """As every operation: its name and arguments."""
        return type(self).__name__, [self.table, self.door], {}

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Triggers are no part of the models' state."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Put the triggers up."""
        install(schema_editor.connection, self.table, door=self.door)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Take the triggers down."""
        remove(schema_editor.connection, self.table)

    def describe(self) -> str:
        """Shown by `migrate --plan`."""
        return f"Make table {self.table} append-only"


# --- statements ----------------------------------------------------------------------------------
def _statements(
    table: str, vendor: str, *, collisions: Iterable[str], door: str = ""
) -> dict[str, str]:
    if vendor == "postgresql":
        return _pg_statements(table, door)
    if vendor == "sqlite":
        return _sqlite_statements(table, tuple(collisions), door)
    # No triggers written for it means no protection: better to stop than to pretend.
    raise RuntimeError(f"append-only tables are not available on {vendor}")


def _pg_statements(table: str, door: str) -> dict[str, str]:
    events = {"rows": ("UPDATE OR DELETE", "ROW"), "truncate": ("TRUNCATE", "STATEMENT")}
    return {
        f"{table}_append_only_{name}": (
            f"CREATE TRIGGER {_quote(f'{table}_append_only_{name}')} BEFORE {event} "
            f"ON {_quote(table)} FOR EACH {each} EXECUTE FUNCTION {_pg_name(door)}()"
        )
        for name, (event, each) in events.items()
    }


def _pg_name(door: str) -> str:
    return f"{_PG_FUNCTION}_{door}" if door else _PG_FUNCTION


def _pg_function(door: str) -> str:
    way_out = (
        f"IF TG_OP = 'DELETE' THEN IF {_has_tombstone(door)} THEN RETURN OLD; END IF; END IF; "
        if door
        else ""
    )
    return (
        f"CREATE OR REPLACE FUNCTION {_pg_name(door)}() RETURNS trigger LANGUAGE plpgsql AS $body$ "
        f"BEGIN {way_out}RAISE EXCEPTION '%: {MESSAGE.replace(chr(39), chr(39) * 2)}', "
        "TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END $body$"
    )


def _has_tombstone(door: str) -> str:
    return (
        f"EXISTS (SELECT 1 FROM {TOMBSTONES} AS stone "  # noqa: S608
        f"WHERE stone.leaf_id = OLD.{_quote(door)})"
    )


def _sqlite_statements(table: str, collisions: tuple[str, ...], door: str) -> dict[str, str]:
    refusal = f"SELECT RAISE(ABORT, '{table}: {MESSAGE.replace(chr(39), chr(39) * 2)}')"
    taken = " OR ".join(f"({collision})" for collision in collisions)
    over_existing = f"WHEN EXISTS (SELECT 1 FROM {_quote(table)} WHERE {taken}) "  # noqa: S608
    still_kept = f"WHEN NOT {_has_tombstone(door)} " if door else ""
    events = {"update": "", "delete": still_kept, "insert": over_existing}
    return {
        f"{table}_append_only_{event}": (
            f"CREATE TRIGGER {_quote(f'{table}_append_only_{event}')} BEFORE {event.upper()} "
            f"ON {_quote(table)} FOR EACH ROW {when}BEGIN {refusal}; END"
        )
        for event, when in events.items()
    }


def _same_key(columns: tuple[str, ...]) -> str:
    return " AND ".join(f"{_quote(column)} = NEW.{_quote(column)}" for column in columns)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# --- what stands in the database -----------------------------------------------------------------
def standing_triggers(connection: BaseDatabaseWrapper, table: str) -> frozenset[str]:
    """The triggers that stand on a table and are switched on."""
    query = (
        "SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(%s) "
        "AND NOT tgisinternal AND tgenabled <> 'D'"
        if connection.vendor == "postgresql"
        else "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [table])
        return frozenset(row[0] for row in cursor.fetchall())


def collisions_on_sqlite(connection: BaseDatabaseWrapper, table: str) -> tuple[str, ...]:
    """How a new row can take the place of an old one on SQLite: one condition per unique key."""
    if connection.vendor != "sqlite":
        return ()
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA index_list({_quote(table)})")
        indexes = [(row[1], bool(row[4])) for row in cursor.fetchall() if row[2]]
        # Also by rowid: `INSERT OR REPLACE INTO t (rowid, ...)` deletes the row with the number.
        found = [_same_key(("rowid",))]
        for name, is_partial in indexes:
            cursor.execute(f"PRAGMA index_info({_quote(name)})")
            same = _same_key(tuple(row[2] for row in cursor.fetchall()))
            found.append(f"{same}{_only_where(cursor, name)}" if is_partial else same)
    return tuple(sorted(found))


def _only_where(cursor: Any, index: str) -> str:
    """A partial key holds only between rows that both meet its condition."""
    cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND name = %s", [index])
    condition = cursor.fetchone()[0].partition(" WHERE ")[2]
    of_new_row = re.sub(r'"(\w+)"', r'NEW."\1"', condition)
    return f" AND ({condition}) AND ({of_new_row})"
