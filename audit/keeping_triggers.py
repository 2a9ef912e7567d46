"""Triggers that keep what must be kept, whoever asks: the floor of retention, and legal holds.

They stand in the database, so that a purge by hand or by a role with every right meets them too:
- a purge is taken only with a cutoff as old as the rule in force says, a default where none is set;
- a tombstone (audit_purgedleaf) is taken only for a row that exists, is older than the floor and
  its purge's cutoff, and lies under no open hold; without a tombstone nothing can be deleted;
- a value is not erased or deleted while a hold covers its decision;
- a hold never gets narrower: only the columns of its release change, and a released one stays.

On SQLite a migration that rebuilds one of these tables begins with `PauseKeeping()`, since SQLite
renames no table while a trigger names one that is away, and ends with `KeepWhatMustBeKept()`.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.operations.base import Operation

from audit.models.retention import DEFAULT_DAYS, FLOOR_DAYS

STONES, HOLDS, PAYLOADS = "audit_purgedleaf", "audit_legalhold", "audit_payload"
_HEADS, _EVENTS, _PURGES = "audit_decisionrow", "audit_auditevent", "audit_purge"
_RULES, _GATED = "audit_retentionrule", "audit_gateddecision"
_FILTER = ("decision_id", "run_id", "user_id", "agent_id", "capability_id")
RELEASE_COLUMNS = (
    "proposed_by",
    "proposed_by_name",
    "proposed_at",
    "proposed_why",
    "released_by",
    "released_by_name",
    "released_at",
)
TOO_SOON = "this cutoff is younger than the retention in force"
NOT_DUE = "this row may not be purged: it is too young, held, or was never here"
HELD = "a legal hold keeps this value"
HOLD_STAYS = "a legal hold can't be shortened or removed; two people release it"


def is_held(row: str) -> str:
    """SQL: some open hold covers the head that goes by this alias."""
    exact = " AND ".join(f"(h.{name} = '' OR h.{name} = {row}.{name})" for name in _FILTER)
    return (
        f"EXISTS (SELECT 1 FROM {HOLDS} AS h "  # noqa: S608
        f"WHERE h.released_at IS NULL AND h.tenant_id = {row}.tenant_id AND {exact} "
        f"AND (h.since IS NULL OR h.since <= {row}.created_at) "
        f"AND (h.until IS NULL OR h.until > {row}.created_at))"
    )


def _period_is_held(row: str) -> str:
    return (
        f"EXISTS (SELECT 1 FROM {HOLDS} AS h "  # noqa: S608
        f"WHERE h.released_at IS NULL AND h.tenant_id = {row}.tenant_id "
        f"AND (h.since IS NULL OR h.since <= {row}.created_at) "
        f"AND (h.until IS NULL OR h.until > {row}.created_at))"
    )


def _decision_is_held(decision_id: str) -> str:
    return (
        f"EXISTS (SELECT 1 FROM {_HEADS} AS r "  # noqa: S608
        f"WHERE r.decision_id = {decision_id} AND {is_held('r')})"
    )


def _not_purgeable(floor: str) -> str:
    """What a tombstone must not be written for. `NEW` is the tombstone."""
    same = "{0}.leaf_hash = NEW.leaf_hash AND {0}.created_at = NEW.created_at AND "
    same += "{0}.tenant_id = NEW.tenant_id"
    a_record = (
        f"EXISTS (SELECT 1 FROM {_HEADS} AS r WHERE r.record_id = NEW.leaf_id "  # noqa: S608
        f"AND r.decision_id = NEW.decision_id AND {same.format('r')})"
    )
    an_event = (
        f"EXISTS (SELECT 1 FROM {_EVENTS} AS e WHERE e.event_id = NEW.leaf_id "  # noqa: S608
        f"AND NEW.decision_id = '' AND {same.format('e')})"
    )
    gated = f"EXISTS (SELECT 1 FROM {_GATED} AS g WHERE g.decision_id = NEW.decision_id)"  # noqa: S608
    a_purge = (
        f"EXISTS (SELECT 1 FROM {_PURGES} AS p WHERE p.purge_id = NEW.purge_id "  # noqa: S608
        "AND p.tenant_id = NEW.tenant_id AND p.cutoff > NEW.created_at "
        f"AND (p.record_class = 'record.gated') = {gated} "
        "AND (p.record_class = 'event') = (NEW.decision_id = ''))"
    )
    return (
        f"(NEW.created_at >= {floor} OR NOT ({a_record} OR {an_event}) OR NOT {a_purge} "
        f"OR {_decision_is_held('NEW.decision_id')} "
        f"OR (NEW.decision_id = '' AND {_period_is_held('NEW')}))"
    )


def _too_soon(vendor: str) -> str:
    """What a purge's cutoff must not be after: today less the days of the newest rule."""
    defaults = " ".join(f"WHEN '{name.value}' THEN {d}" for name, d in DEFAULT_DAYS.items())
    days = (
        f"COALESCE((SELECT u.days FROM {_RULES} AS u "  # noqa: S608
        "WHERE u.tenant_id = NEW.tenant_id AND u.record_class = NEW.record_class "
        f"ORDER BY u.version DESC LIMIT 1), CASE NEW.record_class {defaults} END)"
    )
    if vendor == "postgresql":
        return f"NEW.cutoff > clock_timestamp() - make_interval(days => {days})"
    return f"NEW.cutoff > strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || {days} || ' days')"


def _value_is_held() -> str:
    """Values without a decision are kept by any hold of their tenant."""
    return (
        f"({_decision_is_held('OLD.decision_id')} "
        f"OR (OLD.decision_id = '' AND {_period_is_held('OLD')}))"
    )


def _hold_narrowed(connection: BaseDatabaseWrapper) -> str:
    differs = "IS DISTINCT FROM" if connection.vendor == "postgresql" else "IS NOT"
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, HOLDS)
    fixed = sorted({column.name for column in described} - set(RELEASE_COLUMNS))
    changed = " OR ".join(f'OLD."{name}" {differs} NEW."{name}"' for name in fixed)
    return f"(OLD.released_at IS NOT NULL OR {changed})"


def _rules(connection: BaseDatabaseWrapper) -> list[tuple[str, str, str, str, str]]:
    """(name, table, event, what is refused, why)."""
    floor = (
        f"clock_timestamp() - interval '{FLOOR_DAYS} days'"
        if connection.vendor == "postgresql"
        else f"strftime('%Y-%m-%d %H:%M:%f', 'now', '-{FLOOR_DAYS} days')"
    )
    emptied = f"NEW.sealed IS NULL AND OLD.sealed IS NOT NULL AND {_value_is_held()}"
    return [
        ("ripe", _PURGES, "INSERT", _too_soon(connection.vendor), TOO_SOON),
        ("due", STONES, "INSERT", _not_purgeable(floor), NOT_DUE),
        ("held_update", PAYLOADS, "UPDATE", emptied, HELD),
        ("held_delete", PAYLOADS, "DELETE", _value_is_held(), HELD),
        ("stays_insert", HOLDS, "INSERT", _replaces_a_hold(), HOLD_STAYS),
        ("stays_update", HOLDS, "UPDATE", _hold_narrowed(connection), HOLD_STAYS),
        ("stays_delete", HOLDS, "DELETE", "1 = 1", HOLD_STAYS),
    ]


def _replaces_a_hold() -> str:
    """Also born released; and `INSERT OR REPLACE` on SQLite fires no delete trigger."""
    same = f"EXISTS (SELECT 1 FROM {HOLDS} AS x WHERE x.hold_id = NEW.hold_id)"  # noqa: S608
    return f"(NEW.released_at IS NOT NULL OR {same})"


def trigger_names() -> dict[str, frozenset[str]]:
    """Table -> the triggers that should stand on it."""
    return {
        _PURGES: frozenset({f"{_PURGES}_ripe"}),
        STONES: frozenset({f"{STONES}_due"}),
        PAYLOADS: frozenset({f"{PAYLOADS}_held_update", f"{PAYLOADS}_held_delete"}),
        HOLDS: frozenset(f"{HOLDS}_stays_{event}" for event in ("insert", "update", "delete")),
    }


def install(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers; those that stand already are made anew."""
    remove(connection)
    write = _postgresql if connection.vendor == "postgresql" else _sqlite
    with connection.cursor() as cursor:
        for rule in _rules(connection):
            for statement in write(*rule):
                cursor.execute(statement)
        if connection.vendor == "postgresql":
            for statement in _no_truncate():
                cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper) -> None:
    """Drop them, for the reverse of the migration."""
    with connection.cursor() as cursor:
        for table, names in trigger_names().items():
            on_table = f' ON "{table}"' if connection.vendor == "postgresql" else ""
            for name in {*names, f"{table}_truncate"}:
                cursor.execute(f'DROP TRIGGER IF EXISTS "{name}"{on_table}')


def _postgresql(name: str, table: str, event: str, refused: str, why: str) -> list[str]:
    trigger, kept = f"{table}_{name}", "OLD" if event == "DELETE" else "NEW"
    said = why.replace("'", "''")
    return [
        (
            f'CREATE OR REPLACE FUNCTION "{trigger}"() RETURNS trigger LANGUAGE plpgsql AS $body$ '
            f"BEGIN IF {refused} THEN RAISE EXCEPTION '{table}: {said}' "
            "USING ERRCODE = 'integrity_constraint_violation'; END IF; "
            f"RETURN {kept}; END $body$"
        ),
        (
            f'CREATE TRIGGER "{trigger}" BEFORE {event} ON "{table}" '
            f'FOR EACH ROW EXECUTE FUNCTION "{trigger}"()'
        ),
    ]


def _no_truncate() -> list[str]:
    """TRUNCATE fires no row trigger; SQLite has none."""
    return [
        f'CREATE TRIGGER "{table}_truncate" BEFORE TRUNCATE ON "{table}" '
        "FOR EACH STATEMENT EXECUTE FUNCTION contextos_append_only()"
        for table in (HOLDS, PAYLOADS)
    ]


def _sqlite(name: str, table: str, event: str, refused: str, why: str) -> list[str]:
    said = why.replace("'", "''")
    made = f'CREATE TRIGGER "{table}_{name}" BEFORE {event} ON "{table}" FOR EACH ROW '
    return [f"{made}WHEN {refused} BEGIN SELECT RAISE(ABORT, '{table}: {said}'); END"]


class KeepWhatMustBeKept(Operation):
    """Migration operation: the floor and the holds stand in the database from here on."""

    reduces_to_sql = True
    reversible = True

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """As every operation: its name and arguments."""
        return type(self).__name__, [], {}

    def state_forwards(self, app_label: str, state: Any) -> None:
        """Triggers are no part of the models' state."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Put the triggers up."""
        install(schema_editor.connection)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Take the triggers down."""
        remove(schema_editor.connection)

    def describe(self) -> str:
        """Shown by `migrate --plan`."""
        return "Keep records above the floor of retention and values under legal hold"


class PauseKeeping(KeepWhatMustBeKept):
    """Migration operation: takes the triggers down while a table is rebuilt."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Take the triggers down."""
        remove(schema_editor.connection)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        """Put the triggers up."""
        install(schema_editor.connection)

    def describe(self) -> str:
        """Shown by `migrate --plan`."""
        return "Take the triggers of retention and legal holds down while tables are rebuilt"
