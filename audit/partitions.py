"""Monthly partitions of the decision bodies on PostgreSQL; SQLite keeps one plain table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper

from audit import append_only

TABLE = "audit_decisionbody"
MONTHS_AHEAD = 3


def make_partitioned(connection: BaseDatabaseWrapper) -> None:
    """Replace the still empty plain table by a partitioned one with a safety net."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(f'DROP TABLE "{TABLE}"')
        cursor.execute(
            f'CREATE TABLE "{TABLE}" (record_id varchar(40) NOT NULL, '
            "created_at timestamptz NOT NULL, text text NOT NULL, "
            "PRIMARY KEY (record_id, created_at)) PARTITION BY RANGE (created_at)"
        )
        # Rows of a month nobody prepared land here: a late task never loses a record.
        cursor.execute(f'CREATE TABLE "{TABLE}_default" PARTITION OF "{TABLE}" DEFAULT')


def ensure_partitions(
    *, now: datetime | None = None, connection: BaseDatabaseWrapper | None = None
) -> list[str]:
    """Create the partitions of this month and the next ones; the names of the new ones."""
    database = connection or default_connection
    if database.vendor != "postgresql":
        return []
    standing = _standing(database)
    made = [
        _create(database, name, start, end)
        for name, start, end in _months(now or datetime.now(UTC))
        if name not in standing
    ]
    for name in made:
        append_only.install(database, name)  # a TRUNCATE of the partition passes the parent by
    return made


def _months(now: datetime) -> Iterator[tuple[str, str, str]]:
    for offset in range(MONTHS_AHEAD + 1):
        (year, month), (next_year, next_month) = _month(now, offset), _month(now, offset + 1)
        start, end = f"{year:04d}-{month:02d}-01", f"{next_year:04d}-{next_month:02d}-01"
        yield f"{TABLE}_y{year:04d}m{month:02d}", start, end


def _month(now: datetime, offset: int) -> tuple[int, int]:
    year, month = divmod(now.year * 12 + now.month - 1 + offset, 12)
    return year, month + 1


def _standing(connection: BaseDatabaseWrapper) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = to_regclass(%s)",
            [TABLE],
        )
        return {row[0] for row in cursor.fetchall()}


def _create(connection: BaseDatabaseWrapper, name: str, start: str, end: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            f'CREATE TABLE IF NOT EXISTS "{name}" PARTITION OF "{TABLE}" '
            f"FOR VALUES FROM ('{start} 00:00:00+00') TO ('{end} 00:00:00+00')"
        )
    return name
