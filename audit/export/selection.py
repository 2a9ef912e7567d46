"""Streams the canonical texts of a selection in the order of their ids, in bounded memory.

A batch is one short statement that begins after a cursor, so that an export can go on where it
stopped and holds no snapshot open. PostgreSQL sends the bytes of the texts by COPY, in the order of
its index, while those before them are written; SQLite hands out rows as they are asked for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
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
    selected, parameters = heads.values_list("record_id", "created_at").query.sql_with_params()
    if connection.vendor == "postgresql":
        yield from _copied(_STREAMED.format(heads=selected), parameters)
    else:
        yield from _fetched(_JOINED.format(heads=selected), parameters)


# LIMIT keeps PostgreSQL from joining in another order, which it would first have to sort: the texts
# come one by one from the index, and the first ones at once.
_STREAMED = (
    "SELECT h.record_id, b.text FROM ({heads}) h LEFT JOIN LATERAL "
    f"(SELECT text FROM {_BODIES} WHERE record_id = h.record_id AND created_at = h.created_at "
    "LIMIT 1) b ON TRUE ORDER BY h.record_id"
)
_JOINED = (
    f"SELECT h.record_id, b.text FROM ({{heads}}) h LEFT JOIN {_BODIES} b "
    "ON b.record_id = h.record_id AND b.created_at = h.created_at ORDER BY h.record_id"
)


def _copied(statement: str, parameters: tuple[Any, ...]) -> Iterator[Block]:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT binary)", parameters) as copied,
    ):
        copied.set_types(["text", "bytea"])  # a text is sent as its bytes
        rows = copied.rows()
        while some := list(islice(rows, BLOCK)):
            yield _block(some)


def _fetched(statement: str, parameters: tuple[Any, ...]) -> Iterator[Block]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        while rows := cursor.fetchmany(BLOCK):
            yield _block([(each, text and text.encode()) for each, text in rows])


def _block(rows: Sequence[tuple[str, bytes | None]]) -> Block:
    lines = [(record_id, text) for record_id, text in rows if text is not None]
    texts = [text for _, text in lines]
    return Block(
        last=rows[-1][0],
        missing=len(rows) - len(lines),
        ids=[record_id for record_id, _ in lines],
        sizes=[len(text) for text in texts],
        texts=b"\n".join([*texts, b""]),
    )
