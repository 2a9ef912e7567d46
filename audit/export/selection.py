"""Streams the canonical texts of a selection in the order of their ids, in bounded memory.

A batch is one short statement that begins after a cursor, so that an export can go on where it
stopped and holds no snapshot open. PostgreSQL sends the bytes of each row by COPY, one at a time;
SQLite hands out rows as they are asked for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet

from audit.access import Window
from audit.models import DecisionBody, DecisionRow
from audit.record_filter import RecordFilter
from audit.search import records_matching

BATCH = 10_000
_AT_ONCE = 100
_BODIES = DecisionBody._meta.db_table


class Line(NamedTuple):
    """One record of the selection; `text` is None where the stored text is gone."""

    record_id: str
    text: bytes | None


@dataclass(frozen=True, slots=True)
class Selection:
    """What an export is about: a tenant's records under a filter, up to a fixed last one."""

    wanted: RecordFilter
    window: Window
    last: str = ""
    is_empty: bool = False  # there was nothing when it was fixed

    def rows(self) -> QuerySet[DecisionRow]:
        """The heads, oldest first."""
        rows = records_matching(self.wanted, window=self.window)
        if self.is_empty:
            return rows.none()
        if self.last:
            rows = rows.filter(record_id__lte=self.last)
        return rows.order_by("record_id")

    def bounds(self) -> tuple[str, str]:
        """The first and the newest record there are now; two empty texts for none."""
        ids = self.rows().values_list("record_id", flat=True)
        first = ids.first()
        newest = ids.reverse().first()
        return first or "", newest or ""

    def among(self, record_ids: Sequence[str]) -> set[str]:
        """Which of these ids belong to it."""
        rows = self.rows().filter(record_id__in=record_ids)
        return set(rows.values_list("record_id", flat=True))

    def batch(self, *, after: str = "") -> Generator[Line, None, None]:
        """The next records behind a cursor; an empty batch means that there are no more."""
        if not self.is_empty:
            yield from _texts(self.rows().filter(record_id__gt=after)[:BATCH])

    def these(self, record_ids: Sequence[str]) -> Generator[Line, None, None]:
        """Some of the records, in the order of their ids."""
        yield from _texts(self.rows().filter(record_id__in=record_ids))


def _texts(heads: QuerySet[DecisionRow]) -> Iterator[Line]:
    chosen = heads.values_list("record_id", "created_at")
    span = _span(chosen)
    if span is None:
        return
    statement, parameters = _joined(chosen, span)
    if connection.vendor == "postgresql":
        yield from _copied(statement, parameters)
    else:
        yield from _fetched(statement, parameters)


def _span(heads: QuerySet[Any, Any]) -> tuple[Any, ...] | None:
    """Where the batch lies: with both ends known, bodies are read in one sweep, not one by one."""
    selected, parameters = heads.query.sql_with_params()
    statement = (
        "SELECT min(h.record_id), max(h.record_id), min(h.created_at), max(h.created_at) "
        f"FROM ({selected}) h"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        span: tuple[Any, ...] = cursor.fetchone()
    return None if span[0] is None else span


def _joined(heads: QuerySet[Any, Any], span: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    selected, parameters = heads.query.sql_with_params()
    content = "convert_to(b.text, 'UTF8')" if connection.vendor == "postgresql" else "b.text"
    statement = (
        f"SELECT h.record_id, {content} FROM ({selected}) h LEFT JOIN {_BODIES} b "
        "ON b.record_id = h.record_id AND b.created_at = h.created_at "
        "AND b.record_id BETWEEN %s AND %s AND b.created_at BETWEEN %s AND %s "
        "ORDER BY h.record_id"
    )
    return statement, (*parameters, *span)


def _copied(statement: str, parameters: tuple[Any, ...]) -> Iterator[Line]:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT binary)", parameters) as copied,
    ):
        copied.set_types(["text", "bytea"])
        for record_id, text in copied.rows():
            yield Line(record_id, text)


def _fetched(statement: str, parameters: tuple[Any, ...]) -> Iterator[Line]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        while rows := cursor.fetchmany(_AT_ONCE):
            for record_id, text in rows:
                yield Line(record_id, None if text is None else text.encode())
