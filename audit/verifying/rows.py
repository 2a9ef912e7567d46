"""Checking stored rows against their leaves: text, hashes, derived columns; a block at a time.

Every row of the log passes here, so this is written for speed: one statement per kind and block,
one pass over the text, columns compared as tuples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import connection

from audit import decision_record, event_record
from audit.models import PurgedLeaf
from audit.tombstones import purged_leaves
from audit.verifying.findings import Finding, Kind

BLOCK = 4096  # leaves; a multiple of what one stored node stands for
MOST_FINDINGS = 50
_MARK = b',"record_hash":"sha256:'
_MARKED = len(_MARK) + 64 + 1

_RECORD_COLUMNS, _EVENT_COLUMNS = decision_record.COLUMNS, event_record.COLUMNS
_LEAVES = (
    "SELECT log_index, leaf_id, leaf_hash FROM audit_logleaf "
    "WHERE tenant_id = %s AND log_index >= %s AND log_index < %s ORDER BY log_index"
)
_RECORDS = (
    "SELECT l.log_index, b.text, r.leaf_hash, CAST(r.created_at AS text), "  # noqa: S608  names of our own
    + ", ".join(f"r.{name}" for name in _RECORD_COLUMNS)
    + " FROM audit_logleaf l JOIN audit_decisionrow r ON r.record_id = l.leaf_id "
    "LEFT JOIN audit_decisionbody b ON b.record_id = r.record_id AND b.created_at = r.created_at "
    "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s "
    "AND substr(l.leaf_id, 1, 4) = 'rec_'"
)
_EVENTS = (
    "SELECT l.log_index, e.text, e.leaf_hash, CAST(e.created_at AS text), "  # noqa: S608  names of our own
    + ", ".join(f"e.{name}" for name in _EVENT_COLUMNS)
    + " FROM audit_logleaf l JOIN audit_auditevent e ON e.event_id = l.leaf_id "
    "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s "
    "AND substr(l.leaf_id, 1, 4) = 'aud_'"
)
_MENTIONS = (
    "SELECT m.kind, m.value, m.record_id FROM audit_logleaf l JOIN audit_decisionmention m "
    "ON m.record_id = l.leaf_id AND m.tenant_id = l.tenant_id "
    "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s"
)
Row = Sequence[Any]  # place, text, leaf hash, time, then the columns


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
        """Note one more; a block that is all wrong need not say so a thousand times."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(kind, message, index))


def check_block(tenant_id: str, start: int, end: int) -> Block:
    """Check the leaves [start, end) against everything stored about them."""
    block, where = Block(tenant_id, start), [tenant_id, start, end]
    with _one_moment() as cursor:
        cursor.execute(_LEAVES, where)
        leaves = cursor.fetchall()
        cursor.execute(_RECORDS, where)
        rows = {row[0]: row for row in cursor.fetchall()}
        cursor.execute(_EVENTS, where)
        events = {row[0]: row for row in cursor.fetchall()}
        cursor.execute(_MENTIONS, where)
        mentions = sum(mention_hash(*row) for row in cursor.fetchall())
        gone = [leaf[1] for leaf in leaves if leaf[0] not in rows and leaf[0] not in events]
        stones = purged_leaves(tenant_id=tenant_id, leaf_ids=gone) if gone else {}
    _check_places(block, leaves, start, end)
    for index, leaf_id, stored in leaves:
        leaf = stored if type(stored) is bytes else as_bytes(stored)
        block.leaves.append(leaf)
        row = rows.get(index)
        if row is not None:
            _check_record(block, row, leaf, leaf_id)
        elif (event := events.get(index)) is not None:
            _check_event(block, event, leaf)
        else:
            _check_missing(block, stones.get(leaf_id), leaf_id, index, leaf)
    if mentions != block.mentions and not block.findings:
        said = "the index of approvers, gates and rules is not what the records say"
        block.add(Kind.MENTIONS, said, start)
    return block


@contextmanager
def _one_moment() -> Iterator[Any]:
    """All of a block as it stood at one moment: a purge between two statements would look like
    tampering. PostgreSQL is kept on the log's own index; SQLite takes no lock that writers meet."""
    with connection.cursor() as cursor:
        if connection.in_atomic_block:
            yield cursor
            return
        postgresql = connection.vendor == "postgresql"
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ" if postgresql else "BEGIN")
        try:
            if postgresql:
                cursor.execute("SET LOCAL enable_hashjoin = off")
                cursor.execute("SET LOCAL enable_mergejoin = off")
            yield cursor
        finally:
            cursor.execute("ROLLBACK")


def _check_places(block: Block, leaves: Sequence[Row], start: int, end: int) -> None:
    if len(leaves) == end - start and leaves[0][0] == start and leaves[-1][0] == end - 1:
        return  # places are unique and in order, so none is missing
    present = {leaf[0] for leaf in leaves}
    gaps = [place for place in range(start, end) if place not in present]
    block.add(Kind.LEAF_MISSING, f"{len(gaps)} leaves of the log are gone", gaps[0])


def _check_missing(
    block: Block, stone: PurgedLeaf | None, leaf_id: str, index: int, leaf: bytes
) -> None:
    """A row that is not there: purged when its time was over, or taken away."""
    if stone is None:
        block.add(Kind.TEXT_MISSING, f"{leaf_id} was deleted", index)
    elif as_bytes(stone.leaf_hash) != leaf:
        block.add(Kind.PURGE, f"the tombstone of {leaf_id} is for another row", index)
    else:
        block.purged += 1


# --- one row -------------------------------------------------------------------------------------
def _check_record(block: Block, row: Row, leaf: bytes, leaf_id: str) -> None:
    record = _checked_text(block, row, leaf)
    if record is None:
        return
    try:
        expected = decision_record.derived_texts(record)
        mentioned = decision_record.derived_mentions(record)
    except (KeyError, TypeError, AttributeError):
        block.add(Kind.TEXT_UNREADABLE, "the text is no decision record", row[0])
        return
    if expected != tuple(row[4:]):
        _tell_column(block, row, _RECORD_COLUMNS, expected)
    _check_time(block, row, record)
    for kind, value in mentioned:
        block.mentions += mention_hash(kind, value, leaf_id)


def _check_event(block: Block, row: Row, leaf: bytes) -> None:
    record = _checked_text(block, row, leaf)
    if record is None:
        return
    try:
        expected = event_record.derived_texts(record)
    except (KeyError, TypeError):
        block.add(Kind.TEXT_UNREADABLE, "the text is no event", row[0])
        return
    if expected != tuple(row[4:]):
        _tell_column(block, row, _EVENT_COLUMNS, expected)
    _check_time(block, row, record)


def _checked_text(block: Block, row: Row, leaf: bytes) -> dict[str, Any] | None:
    """The record, once its text is seen to be the one that was sealed."""
    index, text, stored = row[0], row[1], row[2]
    if not isinstance(text, str):
        block.add(Kind.TEXT_MISSING, "the text of the record is gone", index)
        return None
    content = text.encode("utf-8", "surrogatepass")
    if hashlib.sha256(b"\x00" + content).digest() != leaf:
        block.add(Kind.TEXT_CHANGED, "the text is not the one that was sealed", index)
        return None
    if stored != leaf and as_bytes(stored) != leaf:
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
    if not _hash_holds(content, record):
        block.add(Kind.RECORD_HASH, "record_hash is not that of the record", index)
    return record


def _hash_holds(content: bytes, record: dict[str, Any]) -> bool:
    """`record_hash` over everything but itself. What stands once can be cut out of the text;
    a record that quotes another one's hash is written anew."""
    at = content.rfind(_MARK)
    if at < 0 or content.find(_MARK, 0, at) >= 0:
        return bool(event_record.record_hash(record) == record.get("record_hash"))
    stated = content[at + len(_MARK) : at + _MARKED - 1]
    rest = hashlib.sha256(content[:at])
    rest.update(content[at + _MARKED :])
    return rest.hexdigest().encode() == stated


def _check_time(block: Block, row: Row, record: Mapping[str, Any]) -> None:
    """As text: a million times are compared far sooner than read."""
    stored, stated = str(row[3]), str(record.get("created_at"))
    if f"{stated[:10]} {stated[11:-1]}+00" == stored:
        return  # as PostgreSQL writes it when nothing has to be cut off
    if _plain(stored.removesuffix("+00")) != _plain(stated.removesuffix("Z").replace("T", " ")):
        block.add(Kind.COLUMN, f"created_at is {stored}, the text says {stated}", row[0])


def _plain(moment: str) -> str:
    """Without zeros at the end of the fraction: each database writes as many as it likes."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def _tell_column(block: Block, row: Row, names: Sequence[str], expected: Sequence[Any]) -> None:
    for name, wanted, found in zip(names, expected, row[4:], strict=True):
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
