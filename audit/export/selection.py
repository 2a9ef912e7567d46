"""Streams the canonical texts of a selection in the order of their ids, in bounded memory.

A batch is one short statement that begins after a cursor, so that an export can go on where it
stopped and holds no snapshot open. PostgreSQL puts some hundred texts together and sends their
bytes by COPY, so that nothing here is done for every single record; SQLite hands out rows as they
are asked for.
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

BATCH = 20_000
BLOCK = 256
_BODIES = DecisionBody._meta.db_table


class Line(NamedTuple):
    """One record of the selection."""

    record_id: str
    text: bytes


class Block(NamedTuple):
    """Some records in the order of their ids; those whose stored text is gone are only counted."""

    last: str  # the last id of the block, with or without a text
    missing: int
    ids: Sequence[str]
    sizes: Sequence[int]  # of each text in bytes, without its end of line
    texts: bytes  # each text with an end of line

    def each(self) -> Iterator[bytes]:
        """The texts one by one, cut by their sizes: whatever a text holds, it stays one."""
        start = 0
        for size in self.sizes:
            yield self.texts[start : start + size]
            start += size + 1

    def lines(self) -> Iterator[Line]:
        """The texts with their ids."""
        return map(Line, self.ids, self.each())


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

    def batch(self, *, after: str = "") -> Generator[Block, None, None]:
        """The next records behind a cursor; an empty batch means that there are no more."""
        if not self.is_empty:
            yield from _blocks(self.rows().filter(record_id__gt=after)[:BATCH])

    def these(self, record_ids: Sequence[str]) -> Generator[Block, None, None]:
        """Some of the records, in the order of their ids."""
        yield from _blocks(self.rows().filter(record_id__in=record_ids))


def _blocks(heads: QuerySet[DecisionRow]) -> Iterator[Block]:
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
    statement = (
        f"SELECT h.record_id, b.text FROM ({selected}) h LEFT JOIN {_BODIES} b "
        "ON b.record_id = h.record_id AND b.created_at = h.created_at "
        "AND b.record_id BETWEEN %s AND %s AND b.created_at BETWEEN %s AND %s "
        "ORDER BY h.record_id"
    )
    return statement, (*parameters, *span)


_PUT_TOGETHER = (
    "SELECT max(record_id), count(*) FILTER (WHERE text IS NULL), "
    "string_agg(record_id, ',' ORDER BY record_id) FILTER (WHERE text IS NOT NULL), "
    "string_agg(octet_length(text)::text, ',' ORDER BY record_id), "
    "convert_to(string_agg(text, E'\\n' ORDER BY record_id) || E'\\n', 'UTF8') FROM ("
    "SELECT *, (row_number() OVER (ORDER BY record_id) - 1) / {size} AS block FROM ({rows}) r"
    ") n GROUP BY block ORDER BY block"
)


def _copied(statement: str, parameters: tuple[Any, ...]) -> Iterator[Block]:
    together = _PUT_TOGETHER.format(size=BLOCK, rows=statement)
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({together}) TO STDOUT (FORMAT binary)", parameters) as copied,
    ):
        copied.set_types(["text", "int8", "text", "text", "bytea"])
        for last, missing, ids, sizes, texts in copied.rows():
            if texts is None:
                yield Block(last, missing, (), (), b"")
            else:
                lengths = list(map(int, sizes.split(",")))
                yield Block(last, missing, ids.split(","), lengths, texts)


def _fetched(statement: str, parameters: tuple[Any, ...]) -> Iterator[Block]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        while rows := cursor.fetchmany(BLOCK):
            lines = [(record_id, text.encode()) for record_id, text in rows if text is not None]
            yield Block(
                last=rows[-1][0],
                missing=len(rows) - len(lines),
                ids=[record_id for record_id, _ in lines],
                sizes=[len(text) for _, text in lines],
                texts=b"".join(text + b"\n" for _, text in lines),
            )
