"""Checking stored rows against their leaves: text, hashes, derived columns; a block at a time.

Every row of the log passes here, so this is written for speed: the rows of a block are read by the
range of their ids, then comes one short look at each that can only say "as it was sealed". Whatever
that look does not settle is looked up by itself and judged with care. Nothing is asked of the
database but its rows: one that was tampered with may not be asked for hashes either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson
from django.db import connection

from audit.event_record import record_hash
from audit.tombstones import purged_leaves
from audit.verifying.findings import Finding, Kind
from audit.verifying.kinds import COLUMNS_FROM, LEAVES, MENTIONS_EACH, MENTIONS_NEAR, Rows, kinds
from audit.verifying.reading import Reads, Row, as_datetime, moment_stated, one_moment
from audit.verifying.shapes import NO_RECORD, Seen, Shapes
from contextos.core.errors import ContextOSError

BLOCK = 4096  # leaves; a multiple of what one stored node stands for
MOST_FINDINGS = 50
SPREAD = 2  # a range of ids is read as one while it holds at most so many rows for each of ours
_LEAF = b"\x00"
Mentioned = set[tuple[bytes, bytes, bytes]]  # kind, value, and who says so
_sha256 = hashlib.sha256


@dataclass(slots=True)
class Block:
    """What one block of leaves came to; small enough to be handed between processes."""

    tenant_id: str
    start: int
    leaves: list[bytes] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    purged: int = 0

    def add(self, kind: Kind, message: str, index: int) -> None:
        """Note one more."""
        self.findings.append(Finding(kind, message, index))

    def shorten(self) -> None:
        """Keep the first ones: a block that is all wrong need not say so a thousand times."""
        self.findings = sorted(self.findings, key=lambda each: each.index or 0)[:MOST_FINDINGS]


def check_block(tenant_id: str, start: int, end: int) -> Block:
    """Check the leaves [start, end) against everything stored about them."""
    block, where = Block(tenant_id, start), (tenant_id, start, end)
    with one_moment() as reads:
        leaves = reads.compared(LEAVES, where)
        parts = {kind: _of_kind(kind, leaves) for kind in _kinds()}
        checks = [_Check(block, kind, part, reads, where) for kind, part in parts.items() if part]
        gone = [leaf for check in checks for leaf in check.rows_gone()]
        if sum(map(len, parts.values())) < len(leaves):
            known = {kind.prefix for kind in parts}
            gone += [leaf for leaf in leaves if leaf[1][:4] not in known]
        _check_gone(block, gone)
        as_mentioned = [check.mentions_hold() for check in checks]
    block.leaves = [as_bytes(leaf) for _, _, leaf in leaves]
    _check_places(block, leaves, start, end)
    if not all(as_mentioned) and not block.findings:
        said = "the index of approvers, gates and rules is not what the records say"
        block.add(Kind.MENTIONS, said, start)
    block.shorten()
    return block


def _of_kind(kind: Rows, leaves: Sequence[Row]) -> Sequence[Row]:
    return [leaf for leaf in leaves if leaf[1].startswith(kind.prefix)]


def _kinds() -> Sequence[Rows]:
    return kinds(connection.vendor)


def _check_places(block: Block, leaves: Sequence[Row], start: int, end: int) -> None:
    """Whether there is one leaf at each place."""
    if [leaf[0] for leaf in leaves] == list(range(start, end)):
        return
    present = {leaf[0] for leaf in leaves}
    gaps = [place for place in range(start, end) if place not in present]
    if gaps:
        block.add(Kind.LEAF_MISSING, f"{len(gaps)} leaves of the log are gone", gaps[0])
    else:
        block.add(Kind.LEAF_EXTRA, "two leaves stand at one place", start)


def _check_gone(block: Block, gone: Sequence[Row]) -> None:
    """Rows that are not there were purged in time, or taken away."""
    names = {index: _told(name) for index, name, _ in gone}
    stones = purged_leaves(tenant_id=block.tenant_id, leaf_ids=names.values()) if gone else {}
    for index, _, leaf in gone:
        stone = stones.get(names[index])
        if stone is None:
            block.add(Kind.TEXT_MISSING, f"{names[index]} was deleted", index)
        elif as_bytes(stone.leaf_hash) != as_bytes(leaf):
            block.add(Kind.PURGE, f"the tombstone of {names[index]} is for another row", index)
        else:
            block.purged += 1


def _told(name: bytes) -> str:
    return name.decode("utf-8", "replace")


# --- the rows of one kind ------------------------------------------------------------------------
@dataclass(slots=True)
class _Check:
    """The rows of one kind in a block: as many as can be are settled together."""

    block: Block
    kind: Rows
    leaves: Sequence[Row]  # place, name, hash
    reads: Reads
    where: tuple[str, int, int]
    mentioned: Mentioned = field(default_factory=set)
    others: list[bytes] = field(default_factory=list)  # names met that were not settled
    ours: dict[bytes, Any] = field(init=False)
    span: tuple[str, str] = field(init=False)
    are_near: bool = field(init=False)

    def __post_init__(self) -> None:
        self.ours = {name: leaf for _, name, leaf in self.leaves}
        self.span = _told(min(self.ours)), _told(max(self.ours))
        most = SPREAD * len(self.ours)
        ((crowd,),) = self.reads.told(self.kind.crowd, [*self.span, most + 1])
        self.are_near = crowd <= most

    def rows_gone(self) -> list[Row]:
        """Check all that are there; the leaves of those that are not."""
        settled = self._settled()
        if len(settled) == len(self.leaves):
            return []
        doubtful = [leaf for leaf in self.leaves if leaf[1] not in settled]
        judged = self._judge([index for index, _, _ in doubtful])
        return [leaf for leaf in doubtful if leaf[0] not in judged]

    def mentions_hold(self) -> bool:
        """Whether the index of mentions is what the texts say, no more and no less."""
        if self.are_near:
            found = self.reads.stream(MENTIONS_NEAR, [self.block.tenant_id, *self.span])
        else:
            found = self.reads.stream(MENTIONS_EACH, self.where)
        missed, holds = set(self.mentioned), True
        for mention in found:
            if mention[2] in self.ours:
                holds = holds and mention in missed
                missed.discard(mention)
        return holds and not missed

    def _settled(self) -> set[bytes]:
        """The names of rows that are plainly as they were sealed.

        With the database's constraints gone there may be two of a name: none is settled then.
        """
        read = _shapes(self.block.tenant_id, self.kind).read
        settled: set[bytes] = set()
        for head, content in self._rows():
            seen = _as_sealed(head, content, read)
            if seen is None or head[0] in settled:
                self.others.append(head[0])
                continue
            settled.add(head[0])
            if seen.mentions:
                self.mentioned |= _mentions(seen.mentions, head[0])
        unique = settled.isdisjoint(self.others) and len(self.ours) == len(self.leaves)
        return settled if unique else set()

    def _rows(self) -> Iterable[tuple[Row, Any]]:
        """Heads, with the leaves of the log, and their texts."""
        if self.are_near and self.kind.texts:
            return self._with_texts(self.reads.compared(self.kind.near, self.span))
        if self.are_near:
            return self._sealed(self.reads.stream(self.kind.near, self.span))
        return self._sealed(self.reads.stream(self.kind.each, self.where))

    def _with_texts(self, heads: Sequence[Row]) -> Iterable[tuple[Row, Any]]:
        ours, months = self.ours, _months(heads)
        sealed = {head[0]: head for head in heads if ours.get(head[0]) == head[2]}
        twice = len(sealed) < len(heads) and len({head[0] for head in heads}) < len(heads)
        if twice or months is None:
            return self._sealed(self.reads.stream(self.kind.each, self.where))
        return _joined(sealed, self.reads.stream(self.kind.texts, [*self.span, *months]))

    def _sealed(self, rows: Iterable[Row]) -> Iterator[tuple[Row, Any]]:
        """Of rows that have their texts, those of the block with the leaves of the log."""
        ours = self.ours
        for row in rows:
            if ours.get(row[0]) == row[2]:
                yield row, row[4]
            else:
                self.others.append(row[0])

    def _judge(self, places: Sequence[int]) -> set[int]:
        """Look at some rows with care; the places of those that are there."""
        chosen = ", ".join(map(str, places))
        rows = self.reads.told(
            f"{self.kind.apart} AND l.log_index IN ({chosen})", [self.block.tenant_id]
        )
        for row in rows:
            _judge(self.block, self.kind, row, self.mentioned)
        return {row[0] for row in rows}


def _months(heads: Sequence[Row]) -> Sequence[datetime] | None:
    """The first and the last time, which bound the search for texts; None where it has no end."""
    if connection.vendor != "postgresql":
        return ()
    moments = [head[1] for head in heads]
    try:
        return as_datetime(min(moments)), as_datetime(max(moments))
    except (ValueError, OverflowError):  # nothing is there, or a time that no calendar has
        return None


def _joined(heads: Mapping[bytes, Row], texts: Iterable[Row]) -> Iterator[tuple[Row, Any]]:
    """Each head with its text: both come in the order of their names, but for what is not ours."""
    expected = iter(heads.values())
    for name, moment, text in texts:
        head = next(expected, None)
        if head is None or head[0] != name:
            head = heads.get(name)
        if head is not None and head[1] == moment:
            yield head, text


def _mentions(mentions: Iterable[tuple[str, str]], name: bytes) -> Mentioned:
    return {
        (kind.encode(), value.encode("utf-8", "surrogatepass"), name) for kind, value in mentions
    }


@lru_cache(maxsize=4)
def _shapes(tenant_id: str, kind: Rows) -> Shapes:
    return Shapes(tenant_id, kind.derived, kind.mentions)


def _as_sealed(head: Row, content: bytes, read: Callable[[bytes], Seen | None]) -> Seen | None:
    """What a text says, where all about its row is plainly as sealed; with nearly all, it is."""
    try:
        if _sha256(_LEAF + content).digest() != head[2]:
            return None
        seen = read(content)
        if seen is None:
            return None
        stated, time, line, _, (begins, ends) = seen
        if line != head[3] or moment_stated(time) != head[1]:
            return None
    except NO_RECORD:
        return None
    rest = _sha256(content[:begins])
    rest.update(content[ends:])
    return seen if stated == f"sha256:{rest.hexdigest()}" else None


# --- one row, with care --------------------------------------------------------------------------
def _judge(block: Block, kind: Rows, row: Row, mentioned: Mentioned) -> None:
    record = _checked_text(block, row)
    if record is None:
        return
    try:
        expected, says = kind.derived(record), kind.mentions(record)
    except NO_RECORD:
        block.add(Kind.TEXT_UNREADABLE, f"the text is no {kind.name}", row[0])
        return
    _check_columns(block, row, kind.columns, expected)
    _check_time(block, row, record)
    mentioned |= _mentions(says, row[1].encode("utf-8", "surrogatepass"))


def _checked_text(block: Block, row: Row) -> dict[str, Any] | None:
    """The record, once its text is seen to be the one that was sealed."""
    index, leaf, content = row[0], as_bytes(row[2]), row[3]
    if content is None:
        block.add(Kind.TEXT_MISSING, "the text of the record is gone", index)
        return None
    if _sha256(_LEAF + content).digest() != leaf:
        block.add(Kind.TEXT_CHANGED, "the text is not the one that was sealed", index)
        return None
    if as_bytes(row[4]) != leaf:
        block.add(Kind.COLUMN, "leaf_hash is not that of the log", index)
    try:
        record = orjson.loads(content)
    except orjson.JSONDecodeError:
        block.add(Kind.TEXT_UNREADABLE, "the text is no JSON", index)
        return None
    if not isinstance(record, dict):
        block.add(Kind.TEXT_UNREADABLE, "the text is no record", index)
        return None
    if record.get("tenant_id") != block.tenant_id:
        block.add(Kind.COLUMN, "the record is of another tenant", index)
    if not _hash_holds(record):
        block.add(Kind.RECORD_HASH, "record_hash is not that of the record", index)
    return record


def _hash_holds(record: Mapping[str, Any]) -> bool:
    """`record_hash` over everything but itself, written anew."""
    try:
        return record_hash(record) == record.get("record_hash")
    except ContextOSError:  # it holds what no record can
        return False


def _check_time(block: Block, row: Row, record: Mapping[str, Any]) -> None:
    stored, stated = str(row[5]), str(record.get("created_at"))
    if not _same_time(stored, stated):
        block.add(Kind.COLUMN, f"created_at is {stored}, the text says {stated}", row[0])


def _same_time(stored: str, stated: str) -> bool:
    """As text: a million times are compared far sooner than read."""
    if f"{stated[:10]} {stated[11:-1]}+00" == stored:
        return True  # as PostgreSQL writes it when nothing has to be cut off
    return _plain(stored.removesuffix("+00")) == _plain(stated.removesuffix("Z").replace("T", " "))


def _plain(moment: str) -> str:
    """Without zeros at the end of the fraction: each database writes as many as it likes."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def _check_columns(block: Block, row: Row, names: Sequence[str], expected: Sequence[Any]) -> None:
    for name, wanted, found in zip(names, expected, row[COLUMNS_FROM:], strict=True):
        if wanted != found:
            said = f"{name} is {found!r}, the text says {wanted!r}"
            block.add(Kind.COLUMN, said, row[0])
            return


def as_bytes(stored: object) -> bytes:
    """A hash as stored; whatever else somebody wrote there is no hash."""
    return bytes(stored) if isinstance(stored, bytes | memoryview) else b""
