"""Reading the rows of one block at one moment, in the form in which they are compared soonest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any

import psycopg
from django.db import connection
from psycopg.types.numeric import Int8BinaryLoader
from psycopg.types.string import ByteaBinaryLoader

Row = Sequence[Any]
Read = Callable[[str, Sequence[Any]], list[Row]]
Stream = Callable[[str, Sequence[Any]], Iterable[Row]]

# The processes of a check share the cores already: PostgreSQL is to start no more of its own.
_BEGIN = {
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ; "
    "SET LOCAL max_parallel_workers_per_gather = 0",
    "sqlite": "BEGIN",
}
# The ways to join that would make PostgreSQL leave the indexes: of a block, and of whole tables.
BY_LOOKING_UP = ("hashjoin", "mergejoin")
IN_ORDER = ("hashjoin",)
# So many rows wait here at once: few enough for the caches of a core. Older libraries hand one.
_AT_ONCE = 64 if psycopg.capabilities.has_stream_chunked() else 1
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # PostgreSQL counts microseconds since then
_MICROSECOND = timedelta(microseconds=1)
_MILLISECONDS = {b"%03dZ" % each: each * 1000 for each in range(1000)}


@dataclass(frozen=True, slots=True)
class Reads:
    """Ways to read: as values that people can be told, and as bytes that are compared.

    What is compared has texts as their bytes, and as microseconds the times in a column `moment`.
    A stream is read to its end before anything else is; it takes less than a list of long rows.
    """

    told: Read
    compared: Read
    stream: Stream


@contextmanager
def one_moment(without: Sequence[str] = BY_LOOKING_UP) -> Iterator[Reads]:
    """All of a block as it stood at one moment: a purge between two statements would look like
    tampering. SQLite takes no lock that writers meet."""
    with connection.cursor() as cursor:
        reads = _of_postgresql() if connection.vendor == "postgresql" else _of_sqlite(cursor)
        if connection.in_atomic_block:
            yield reads
            return
        cursor.execute(_BEGIN[connection.vendor])
        try:
            if connection.vendor == "postgresql":
                cursor.execute("; ".join(f"SET LOCAL enable_{way} = off" for way in without))
            yield reads
        finally:
            cursor.execute("ROLLBACK")


def moment_stated(time: bytes) -> int:
    """The time that a text states, as it is stored; ValueError or KeyError where it is written
    otherwise than records write it."""
    return _second(time[:20]) + _MILLISECONDS[time[20:]]


def as_datetime(moment: int) -> datetime:
    """A stored time; OverflowError where the calendar ends before it."""
    return _EPOCH + moment * _MICROSECOND


@lru_cache(maxsize=4096)
def _second(time: bytes) -> int:
    parsed = datetime.fromisoformat(time[:19].decode())
    if b"%b." % parsed.isoformat().encode() != time:
        raise ValueError
    return _moment(parsed)


def _moment(parsed: datetime) -> int:
    return (parsed.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


# --- PostgreSQL ----------------------------------------------------------------------------------
def _of_postgresql() -> Reads:
    """PostgreSQL's own format, texts as the bytes they are: nothing is read that is only hashed."""
    telling, comparing = (psycopg.Cursor(connection.connection) for _ in range(2))
    telling.adapters.register_loader("text", ByteaBinaryLoader)
    for texts in ("text", "varchar"):
        comparing.adapters.register_loader(texts, ByteaBinaryLoader)
    comparing.adapters.register_loader("timestamptz", Int8BinaryLoader)

    def stream(statement: str, where: Sequence[Any]) -> Iterable[Row]:
        return comparing.stream(statement.encode(), where, binary=True, size=_AT_ONCE)

    return Reads(partial(_all_rows, telling), partial(_all_rows, comparing), stream)


def _all_rows(cursor: psycopg.Cursor[Any], statement: str, where: Sequence[Any]) -> list[Row]:
    return list(cursor.execute(statement.encode(), where, binary=True).fetchall())


# --- SQLite --------------------------------------------------------------------------------------
def _of_sqlite(cursor: Any) -> Reads:
    compared = partial(_converted_rows, cursor, _COMPARED)
    return Reads(partial(_converted_rows, cursor, _TOLD), compared, compared)


def _converted_rows(
    cursor: Any, how: Mapping[str, Callable[[Any], Any]], statement: str, where: Sequence[Any]
) -> list[Row]:
    cursor.execute(statement, where)
    names = [column[0] for column in cursor.description]
    return [_converted(row, names, how) for row in cursor.fetchall()]


def _converted(row: Row, names: Sequence[str], how: Mapping[str, Callable[[Any], Any]]) -> Row:
    pairs = zip(names, row, strict=True)
    return tuple(how[name](value) if name in how else value for name, value in pairs)


def _as_content(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _as_moment(value: Any) -> int | None:
    """A time that is written as we write it; any other is judged with care."""
    try:
        parsed = datetime.fromisoformat(value)
        return _moment(parsed) if str(parsed) == value else None
    except (TypeError, ValueError):
        return None


_TOLD: Mapping[str, Callable[[Any], Any]] = {"text": _as_content}
_COMPARED: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("name", "line", "text", "kind", "value"), _as_content),
    "moment": _as_moment,
}
