"""Checking stored rows against their leaves: text, hashes, derived columns; a block at a time.

Every row of the log passes here, so this is written for speed: one statement per kind and block,
then one short look at each row that can only say "as it was sealed". Whatever that look does not
settle is judged with care. Nothing is asked of the database but its rows: one that was tampered
with may not be asked for hashes either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

import orjson
import psycopg
from django.db import connection
from psycopg.types.string import ByteaBinaryLoader

from audit import decision_record, event_record
from audit.tombstones import purged_leaves
from audit.verifying.findings import Finding, Kind
from audit.verifying.shapes import BETWEEN, NO_RECORD, Derived, Mentions, Shapes
from contextos.core.errors import ContextOSError

BLOCK = 2048  # leaves; a multiple of what one stored node stands for
MOST_FINDINGS = 50
_LEAF = b"\x00"

_LEAVES = (
    "SELECT log_index, leaf_id, leaf_hash FROM audit_logleaf "
    "WHERE tenant_id = %s AND log_index >= %s AND log_index < %s"
)
_RECORDS = (
    "SELECT l.log_index, l.leaf_id, l.leaf_hash, b.text, r.leaf_hash, "
    "CAST(r.created_at AS varchar), {columns} "
    "FROM audit_logleaf l JOIN audit_decisionrow r ON r.record_id = l.leaf_id "
    "LEFT JOIN audit_decisionbody b ON b.record_id = r.record_id AND b.created_at = r.created_at "
    "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s "
    "AND substr(l.leaf_id, 1, 4) = 'rec_'"
)
_EVENTS = (
    "SELECT l.log_index, l.leaf_id, l.leaf_hash, r.text, r.leaf_hash, "
    "CAST(r.created_at AS varchar), {columns} "
    "FROM audit_logleaf l JOIN audit_auditevent r ON r.event_id = l.leaf_id "
    "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s "
    "AND substr(l.leaf_id, 1, 4) = 'aud_'"
)
_MENTIONS = (
    "SELECT m.kind, m.value, m.record_id FROM audit_logleaf l JOIN audit_decisionmention m "
    "ON m.record_id = l.leaf_id AND m.tenant_id = l.tenant_id "
    "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s"
)
# place, leaf id, leaf of the log, text, leaf hash, time, then the columns: in one, or each
Row = Sequence[Any]
_COLUMNS_FROM = 6
Read = Callable[[str, Sequence[Any]], list[Row]]
_sha256 = hashlib.sha256


@dataclass(frozen=True, slots=True)
class Rows:
    """One kind of rows: how they are read, and what follows from their texts."""

    name: str
    joined: str  # reads the columns as one text, which takes a quarter less than all of them
    apart: str  # reads each column, to name the one that is wrong
    columns: Sequence[str]
    derived: Derived
    mentions: Mentions


def _rows(
    name: str, statement: str, columns: Sequence[str], derived: Derived, mentions: Mentions
) -> Rows:
    names = [f"r.{column}" for column in columns]
    joined = f" || '{BETWEEN}' || ".join(names)
    return Rows(
        name,
        statement.format(columns=f"CAST({joined} AS varchar)"),
        statement.format(columns=", ".join(names)),
        columns,
        derived,
        mentions,
    )


_KINDS = (
    _rows(
        "decision record",
        _RECORDS,
        decision_record.COLUMNS,
        decision_record.derived_texts,
        decision_record.derived_mentions,
    ),
    _rows("event", _EVENTS, event_record.COLUMNS, event_record.derived_texts, lambda record: ()),
)


@dataclass(slots=True)
class Block:
    """What one block of leaves came to; small enough to be handed between processes."""

    tenant_id: str
    start: int
    leaves: list[bytes] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    purged: int = 0
    mentions: int = 0  # order does not matter: a sum of hashes of what the texts mention

    def add(self, kind: Kind, message: str, index: int) -> None:
        """Note one more."""
        self.findings.append(Finding(kind, message, index))

    def shorten(self) -> None:
        """Keep the first ones: a block that is all wrong need not say so a thousand times."""
        self.findings = sorted(self.findings, key=lambda each: each.index or 0)[:MOST_FINDINGS]


def check_block(tenant_id: str, start: int, end: int) -> Block:
    """Check the leaves [start, end) against everything stored about them."""
    block, where = Block(tenant_id, start), [tenant_id, start, end]
    with _one_moment() as read:
        leaves: list[Row] = []
        for kind in _KINDS:
            rows = read(kind.joined, where)
            leaves += rows
            _check_rows(block, kind, rows, read)
        leaves.sort(key=itemgetter(0))
        if not _is_whole(leaves, start, end):
            leaves = _check_missing(block, {row[0] for row in leaves}, read(_LEAVES, where))
        mentions = sum(mention_hash(*row) for row in read(_MENTIONS, where))
    block.leaves = [as_bytes(leaf[2]) for leaf in leaves]
    _check_places(block, leaves, start, end)
    if mentions != block.mentions and not block.findings:
        said = "the index of approvers, gates and rules is not what the records say"
        block.add(Kind.MENTIONS, said, start)
    block.shorten()
    return block


@contextmanager
def _one_moment() -> Iterator[Read]:
    """All of a block as it stood at one moment: a purge between two statements would look like
    tampering. PostgreSQL is kept on the log's own index; SQLite takes no lock that writers meet."""
    with connection.cursor() as cursor:
        postgresql = connection.vendor == "postgresql"
        read = _binary_reader() if postgresql else partial(_read_texts, cursor)
        if connection.in_atomic_block:
            yield read
            return
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ" if postgresql else "BEGIN")
        try:
            if postgresql:
                cursor.execute("SET LOCAL enable_hashjoin = off")
                cursor.execute("SET LOCAL enable_mergejoin = off")
            yield read
        finally:
            cursor.execute("ROLLBACK")


def _binary_reader() -> Read:
    """PostgreSQL's own format, texts as the bytes they are: nothing is read that is only hashed."""
    cursor = psycopg.Cursor(connection.connection)
    cursor.adapters.register_loader("text", ByteaBinaryLoader)

    def read(statement: str, where: Sequence[Any]) -> list[Row]:
        return list(cursor.execute(statement.encode(), where, binary=True).fetchall())

    return read


def _read_texts(cursor: Any, statement: str, where: Sequence[Any]) -> list[Row]:
    cursor.execute(statement, where)
    return [_with_bytes(row) if len(row) > _COLUMNS_FROM else row for row in cursor.fetchall()]


def _with_bytes(row: Row) -> Row:
    text = row[3]
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else None
    return (*row[:3], content, *row[4:])


def _is_whole(leaves: Sequence[Row], start: int, end: int) -> bool:
    """Whether there is one leaf at each place."""
    return [leaf[0] for leaf in leaves] == list(range(start, end))


def _check_places(block: Block, leaves: Sequence[Row], start: int, end: int) -> None:
    if _is_whole(leaves, start, end):
        return
    present = {leaf[0] for leaf in leaves}
    gaps = [place for place in range(start, end) if place not in present]
    if gaps:
        block.add(Kind.LEAF_MISSING, f"{len(gaps)} leaves of the log are gone", gaps[0])
    else:
        block.add(Kind.LEAF_EXTRA, "two leaves stand at one place", start)


def _check_missing(block: Block, present: Set[int], leaves: Sequence[Row]) -> list[Row]:
    """All leaves in order; rows that are not there were purged in time, or taken away."""
    gone = [leaf for leaf in leaves if leaf[0] not in present]
    stones = purged_leaves(tenant_id=block.tenant_id, leaf_ids=[leaf[1] for leaf in gone])
    for index, leaf_id, leaf in gone:
        stone = stones.get(leaf_id)
        if stone is None:
            block.add(Kind.TEXT_MISSING, f"{leaf_id} was deleted", index)
        elif as_bytes(stone.leaf_hash) != as_bytes(leaf):
            block.add(Kind.PURGE, f"the tombstone of {leaf_id} is for another row", index)
        else:
            block.purged += 1
    return sorted(leaves, key=itemgetter(0))


# --- one row, shortly ----------------------------------------------------------------------------
def _check_rows(block: Block, kind: Rows, rows: Sequence[Row], read: Read) -> None:
    shapes = _shapes(block.tenant_id, kind)
    doubtful = {row[0] for row in rows if not _is_as_sealed(block, row, shapes)}
    if doubtful:
        where = [block.tenant_id, min(doubtful), max(doubtful) + 1]
        for row in read(kind.apart, where):
            if row[0] in doubtful:
                _judge(block, kind, row)


@lru_cache(maxsize=4)
def _shapes(tenant_id: str, kind: Rows) -> Shapes:
    return Shapes(tenant_id, kind.derived, kind.mentions)


def _is_as_sealed(block: Block, row: Row, shapes: Shapes) -> bool:
    """Whether everything about a row is plainly as it was sealed; with nearly all, it is."""
    leaf, content = row[2], row[3]
    if content is None or row[4] != leaf or _sha256(_LEAF + content).digest() != leaf:
        return False
    try:
        seen = shapes.read(content)
        if seen is None or seen.line != row[_COLUMNS_FROM] or not _same_time(row[5], seen.time):
            return False
    except NO_RECORD:
        return False
    begins, ends = seen.around
    rest = _sha256(content[:begins])
    rest.update(content[ends:])
    if seen.stated != f"sha256:{rest.hexdigest()}":
        return False
    for kind, value in seen.mentions:
        block.mentions += mention_hash(kind, value, row[1])
    return True


# --- one row, with care --------------------------------------------------------------------------
def _judge(block: Block, kind: Rows, row: Row) -> None:
    record = _checked_text(block, row)
    if record is None:
        return
    try:
        expected, mentioned = kind.derived(record), kind.mentions(record)
    except NO_RECORD:
        block.add(Kind.TEXT_UNREADABLE, f"the text is no {kind.name}", row[0])
        return
    _check_columns(block, row, kind.columns, expected)
    _check_time(block, row, record)
    for mention in mentioned:
        block.mentions += mention_hash(*mention, row[1])


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
        return event_record.record_hash(record) == record.get("record_hash")
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
    for name, wanted, found in zip(names, expected, row[_COLUMNS_FROM:], strict=True):
        if wanted != found:
            said = f"{name} is {found!r}, the text says {wanted!r}"
            block.add(Kind.COLUMN, said, row[0])
            return


def as_bytes(stored: object) -> bytes:
    """A hash as stored; whatever else somebody wrote there is no hash."""
    return bytes(stored) if isinstance(stored, bytes | memoryview) else b""


def mention_hash(kind: str, value: str, record_id: str) -> int:
    """A number for one mention; the sum over all of them tells whether any was changed."""
    content = "\x1f".join((kind, value, record_id)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(content).digest()[:16])
