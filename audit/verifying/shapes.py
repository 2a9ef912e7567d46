"""Records of one kind of call are alike but for a few values: known shapes need no parser.

A shape is learned from a text that a parser read: what stands around its values, and what follows
from them. Another text with the same bytes around values that JSON does not escape is the
same record with other values, and nothing else: no parser could read it differently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

import orjson

from contextos.core.canonical import canonicalise
from contextos.core.errors import ContextOSError

MOST_SHAPES = 256
MOST_OF_A_LENGTH = 3
MOST_LEARNED = 16  # in a row of misses, after which only every so many are learned from
BETWEEN = "\x1f"
HASH = ("record_hash",)
TIME = ("created_at",)
_VARYING: tuple[tuple[str, ...], ...] = (
    HASH,
    TIME,
    ("args_commitment",),
    ("decision_id",),
    ("decision_key",),
    ("egress", "ip"),
    ("event_id",),
    ("idempotency", "fingerprint"),
    ("idempotency", "key_hash"),
    ("policy_decision", "evaluated_at"),
    ("policy_decision", "inputs_hash"),
    ("policy_decision", "policy_decision_id"),
    ("run_id",),
    ("session_id",),
    ("span_id",),
    ("subject", "id"),
    ("tool_call_hash",),
    ("tool_result_hash",),
    ("trace_id",),
)
_OF_PRINCIPALS = ("display", "id")
_PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte not in b'"\\')
_MARK = re.compile(rb'"#~(\d{3})~#"')
_MARK_IN_LINE = re.compile(r"#~(\d{3})~#")
_HASH_NAME = b',"record_hash":'
# What reading a text as a record may raise that is none: no JSON, no object, no such member.
NO_RECORD = (ValueError, KeyError, TypeError, AttributeError, ContextOSError)
Derived = Callable[[Mapping[str, Any]], tuple[Any, ...]]
Mentions = Callable[[Mapping[str, Any]], tuple[tuple[str, str], ...]]


class Seen(NamedTuple):
    """What a text says, as far as the log's tables repeat it."""

    stated: str  # its own hash
    time: bytes
    line: bytes  # the columns that follow from it, one after the other
    mentions: tuple[tuple[str, str], ...]
    around: tuple[int, int]  # where its own hash is cut out


# Reads a text that has a shape's length as that shape; None where it is of another.
Shape = Callable[[bytes], Seen | None]
_seen = partial(tuple.__new__, Seen)  # the usual way to make one takes as long as cutting a text


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes around the values, and what is made of the values."""

    around_values: Callable[[bytes], tuple[bytes, ...]]
    values: Callable[[bytes], tuple[bytes, ...]]
    literals: tuple[bytes, ...]  # what stands around the values
    hash_at: int
    time_at: int
    line: bytes  # with %b for each value that is a column
    columns: Callable[[Sequence[bytes]], tuple[bytes, ...]]  # takes those values
    mentions: tuple[tuple[str, str], ...]
    around: tuple[int, int]

    def shape(self) -> Shape:
        """What reads by it; a million times, so nothing is looked up that can be at hand."""
        around_values, values_of, literals = self.around_values, self.values, self.literals
        hash_at, time_at, line, columns = self.hash_at, self.time_at, self.line, self.columns
        mentions, around, together = self.mentions, self.around, b"".join

        def read(content: bytes) -> Seen | None:
            if around_values(content) != literals:
                return None
            values = values_of(content)
            if together(values).translate(None, _PLAIN):
                return None
            said = line % columns(values)
            return _seen((values[hash_at].decode(), values[time_at], said, mentions, around))

        return read


@dataclass(slots=True)
class Shapes:
    """The shapes of one kind of rows of a tenant that were met so far; a few hundred at most."""

    tenant_id: str
    derived: Derived
    mentions: Mentions
    known: dict[int, list[Shape]] = field(default_factory=dict)
    count: int = 0
    misses: int = 0

    def read(self, content: bytes) -> Seen | None:
        """What a text says; None where it is none of the tenant's records, or says it oddly."""
        for shape in self.known.get(len(content), ()):
            seen = shape(content)
            if seen is not None:
                self.misses = 0
                return seen
        record = orjson.loads(content)
        if record["tenant_id"] != self.tenant_id:
            return None
        seen = self._parsed(content, record)
        self._learn(content, record, seen)
        return seen

    def _parsed(self, content: bytes, record: Mapping[str, Any]) -> Seen | None:
        stated, columns = record["record_hash"], self.derived(record)
        line = spelled_columns(columns)
        member = b',"record_hash":"%b"' % stated.encode()
        # No record can quote its own hash, so it is cut out where it first stands.
        begins = content.find(member)
        if begins < 0 or line.count(BETWEEN) != len(columns) - 1:
            return None  # a column holds what stands between them: they are to be read apart
        around = begins, begins + len(member)
        said = self.mentions(record)
        return Seen(stated, record["created_at"].encode(), line.encode(), said, around)

    def _learn(self, content: bytes, record: Mapping[str, Any], seen: Seen | None) -> None:
        """Remember the shape of a text; where all are different, only now and then."""
        self.misses += 1
        if seen is None or (self.misses > MOST_LEARNED and self.misses % MOST_LEARNED):
            return
        if self.count >= MOST_SHAPES:
            self.known.clear()
            self.count = 0
        shape = shape_of(content, record, self.derived, self.mentions)
        if shape is not None and shape(content) == seen:
            others = self.known.get(len(content), [])
            self.known[len(content)] = [shape, *others[: MOST_OF_A_LENGTH - 1]]
            self.count += 1


def shape_of(
    content: bytes, record: Mapping[str, Any], derived: Derived, mentions: Mentions
) -> Shape | None:
    """The shape of a text; None where its values can't be told from what is around them."""
    marked, values, names = _marked(record)
    if b"#~" in content or HASH not in names or TIME not in names:
        return None
    parts = _MARK.split(canonicalise(marked))
    order = [int(number) for number in parts[1::2]]
    around = _with_quotes(parts[::2])
    found = [values[number] for number in order]
    if _put_together(around, found) != content:
        return None
    line, said = _MARK_IN_LINE.split(spelled_columns(derived(marked))), mentions(marked)
    if len(line) < 5 or any("#~" in value for _, value in said):
        return None
    at = order.index(names.index(HASH))
    begins = len(_put_together(around[: at + 1], found[:at])) - len(_HASH_NAME) - 1
    sizes = [len(part) for part in _by_turns(around, found)]
    frame = Frame(
        around_values=_cut(sizes, "s", "x"),
        values=_cut(sizes, "x", "s"),
        literals=tuple(around),
        hash_at=at,
        time_at=order.index(names.index(TIME)),
        line=b"%b".join(part.replace("%", "%%").encode() for part in line[::2]),
        columns=itemgetter(*[order.index(int(number)) for number in line[1::2]]),
        mentions=said,
        around=(begins, begins + len(_HASH_NAME) + len(found[at]) + 2),
    )
    return frame.shape()


def _marked(
    record: Mapping[str, Any],
) -> tuple[dict[str, Any], list[bytes], list[tuple[str, ...]]]:
    """The record with marks in place of the values that vary, the values, and their names."""
    marked = deepcopy(dict(record))
    values: list[bytes] = []
    names: list[tuple[str, ...]] = []
    for name, holder in _places(marked):
        value = holder.get(name[-1])
        if isinstance(value, str) and not value.encode().translate(None, _PLAIN):
            holder[name[-1]] = f"#~{len(values):03d}~#"
            values.append(value.encode())
            names.append(name)
    return marked, values, names


def _places(record: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for name in _VARYING:
        holder = record if len(name) == 1 else record.get(name[0])
        if isinstance(holder, dict):
            yield name, holder
    for link in record.get("principal_chain") or ():
        for part in _OF_PRINCIPALS:
            yield ("principal_chain", part), link


def spelled_columns(columns: Sequence[Any]) -> str:
    """The columns as the database joins them; nothing but texts and whole numbers is one."""
    return BETWEEN.join([value if value.__class__ is str else _number(value) for value in columns])


def _number(value: Any) -> str:
    if value.__class__ is not int:
        raise TypeError
    return str(value)


def _with_quotes(pieces: Sequence[bytes]) -> list[bytes]:
    """What stands around the values, with the quotes that belong to them."""
    return [
        b'"' * (at > 0) + piece + b'"' * (at < len(pieces) - 1) for at, piece in enumerate(pieces)
    ]


def _by_turns(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """One more of the first than of the second."""
    both = [each for pair in zip(first, second, strict=False) for each in pair]
    return [*both, first[-1]]


def _cut(sizes: Sequence[int], around: str, value: str) -> Callable[[bytes], tuple[bytes, ...]]:
    """Takes those parts of a text that are marked `s` and passes over those marked `x`."""
    return Struct(
        "".join(f"{size}{(around, value)[at % 2]}" for at, size in enumerate(sizes))
    ).unpack


def _put_together(around: Sequence[bytes], values: Sequence[bytes]) -> bytes:
    return b"".join(_by_turns(around, values))
