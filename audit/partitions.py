"""Monthly partitions of the decision bodies on PostgreSQL; SQLite keeps one plain table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import structlog
from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper

from audit import append_only
from audit.models.retention import FLOOR_DAYS

log = structlog.get_logger(__name__)
TABLE = "audit_decisionbody"
DOOR = "record_id"  # what a tombstone names a body by
MONTHS_AHEAD = 3
SAFETY_NET = f"{TABLE}_default"
_MONTH = re.compile(rf"{TABLE}_y(?P<year>\d{{4}})m(?P<month>\d{{2}})")


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
        cursor.execute(f'CREATE TABLE "{SAFETY_NET}" PARTITION OF "{TABLE}" DEFAULT')


def pack_texts(connection: BaseDatabaseWrapper, method: str) -> None:
    """Pack the texts that come from now on by this method; those that are there stay as they are.

    A check of the log unpacks every text there is, an export every one that it writes: LZ4 takes a
    third of the time. Months to come take it from the table; not every PostgreSQL is built with it.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'")
        known = cursor.fetchone()
        if known and method in known[0]:
            for table in (TABLE, *sorted(standing_partitions(connection))):
                cursor.execute(f'ALTER TABLE "{table}" ALTER COLUMN text SET COMPRESSION {method}')


def ensure_partitions(
    *, now: datetime | None = None, connection: BaseDatabaseWrapper | None = None
) -> list[str]:
    """Create the partitions of this month and the next ones; the names of the new ones."""
    database = connection or default_connection
    if database.vendor != "postgresql":
        return []
    made = [
        _create(database, name, start, end)
        for name, start, end in _missing(now or datetime.now(UTC), database)
        if not _caught(database, start, end)
    ]
    for name in made:
        # A TRUNCATE of the partition passes the parent by.
        append_only.install(database, name, door=DOOR)
    return made


def unprepared_months(
    *, now: datetime | None = None, connection: BaseDatabaseWrapper | None = None
) -> list[str]:
    """This month and the next, where they have no partition: rows would land in the safety net."""
    database = connection or default_connection
    if database.vendor != "postgresql" or not standing_partitions(database):
        return []
    missing = {name for name, _, _ in _missing(now or datetime.now(UTC), database)}
    soon = [name for name, _, _ in _months(now or datetime.now(UTC))][:2]
    return [name for name in soon if name in missing]


def _missing(now: datetime, connection: BaseDatabaseWrapper) -> list[tuple[str, str, str]]:
    standing = standing_partitions(connection)
    return [month for month in _months(now) if month[0] not in standing]


def _caught(connection: BaseDatabaseWrapper, start: str, end: str) -> bool:
    """Whether the safety net holds rows of the month: they stay there, and so does the month."""
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT EXISTS (SELECT 1 FROM "{SAFETY_NET}" '
            "WHERE created_at >= %s::timestamptz AND created_at < %s::timestamptz)",
            [f"{start} 00:00:00+00", f"{end} 00:00:00+00"],
        )
        caught = bool(cursor.fetchone()[0])
    if caught:
        log.warning("a month has no partition of its own: rows came first", month=start)
    return caught


def _months(now: datetime) -> Iterator[tuple[str, str, str]]:
    for offset in range(MONTHS_AHEAD + 1):
        (year, month), (next_year, next_month) = _month(now, offset), _month(now, offset + 1)
        start, end = f"{year:04d}-{month:02d}-01", f"{next_year:04d}-{next_month:02d}-01"
        yield f"{TABLE}_y{year:04d}m{month:02d}", start, end


def _month(now: datetime, offset: int) -> tuple[int, int]:
    year, month = divmod(now.year * 12 + now.month - 1 + offset, 12)
    return year, month + 1


def standing_partitions(connection: BaseDatabaseWrapper) -> set[str]:
    """The names of all partitions, the safety net among them; none on SQLite."""
    if connection.vendor != "postgresql":
        return set()
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


# --- purged months -------------------------------------------------------------------------------
def months_past_floor(now: datetime) -> list[str]:
    """The partitions that may hold purged rows: those wholly before the floor, and the net."""
    floor = now - timedelta(days=FLOOR_DAYS)
    standing = sorted(standing_partitions(default_connection))
    return [name for name in standing if name == SAFETY_NET or _ends_before(name, floor)]


def _ends_before(name: str, moment: datetime) -> bool:
    found = _MONTH.fullmatch(name)
    if found is None:
        return False
    year, month = _month(datetime(int(found["year"]), int(found["month"]), 1, tzinfo=UTC), 1)
    return datetime(year, month, 1, tzinfo=UTC) <= moment


def clear_month(name: str) -> bool:
    """Whether nothing in a month has to stay; if something does, only the purged rows leave."""
    stone = f"SELECT 1 FROM {append_only.TOMBSTONES} AS stone WHERE stone.leaf_id = body.record_id"
    with default_connection.cursor() as cursor:
        cursor.execute(f'SELECT EXISTS (SELECT 1 FROM "{name}" AS body WHERE NOT EXISTS ({stone}))')
        row = cursor.fetchone()
        if row and not row[0] and name != SAFETY_NET:
            return True
        cursor.execute(f'DELETE FROM "{name}" AS body WHERE EXISTS ({stone})')
    return False


def drop_month(name: str) -> None:
    """Take a whole month away. Every writer queues behind us, so we give up soon and come again."""
    with default_connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '300ms'")
        cursor.execute(f'ALTER TABLE "{TABLE}" DETACH PARTITION "{name}"')
        cursor.execute(f'DROP TABLE "{name}"')
