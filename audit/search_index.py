"""The index that answers searches on PostgreSQL: newest first, with every filtered column in it.

Any combination of filters is one walk over this index alone, which at a million rows costs less
than a quarter of a second; an index per filter would cost every governed call an insert instead.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

NAME = "decision_by_tenant"
TABLE = "audit_decisionrow"
WITHOUT_PATTERNS = (
    "audit_decisionrow",
    "audit_decisionamount",
    "audit_payload",
    "audit_unsealedleaf",
    "audit_logleaf",
)
COVERED = (
    "created_at",
    "decision_id",
    "seq",
    "status",
    "outcome",
    "mode_effective",
    "capability_id",
    "adapter_id",
    "agent_id",
    "user_id",
    "intent",
    "error_code",
)


def cover(connection: BaseDatabaseWrapper) -> None:
    """Put the columns into the index; only pages the database knows to be settled are skipped."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(f'DROP INDEX IF EXISTS "{NAME}"')
        cursor.execute(
            f'CREATE INDEX "{NAME}" ON "{TABLE}" (tenant_id, record_id) '
            f"INCLUDE ({', '.join(COVERED)})"
        )
        # Rows never change: vacuum them soon after they came, so that the index alone will do.
        cursor.execute(
            f'ALTER TABLE "{TABLE}" SET (autovacuum_vacuum_insert_scale_factor = 0.02, '
            "autovacuum_analyze_scale_factor = 0.02)"
        )


def uncover(connection: BaseDatabaseWrapper) -> None:
    """The plain index again, for the reverse of the migration."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(f'DROP INDEX IF EXISTS "{NAME}"')
        cursor.execute(f'CREATE INDEX "{NAME}" ON "{TABLE}" (tenant_id, record_id)')
        cursor.execute(
            f'ALTER TABLE "{TABLE}" RESET '
            "(autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor)"
        )


def drop_pattern_indexes(connection: BaseDatabaseWrapper) -> None:
    """Every text key got an index for LIKE from Django; nobody asks so, and each insert paid."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() "
            "AND tablename = ANY(%s) AND indexname LIKE %s",
            [list(WITHOUT_PATTERNS), r"%\_like"],
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP INDEX "{name}"')
