"""Finds the line and column where a JSON pointer stands in a text."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contextos.core.json_pointer import escape
from contextos.core.strict_json import loads

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]+')


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text, counted from one as editors do."""

    line: int
    column: int


@dataclass(slots=True)
class _Container:
    pointer: str
    is_object: bool
    index: int = 0
    key: str | None = None

    def next_child(self) -> str:
        token = escape(self.key or "") if self.is_object else str(self.index)
        return f"{self.pointer}/{token}"


@dataclass(slots=True)
class _Scan:
    """Walks the tokens of a valid document once and notes where the wanted pointers stand."""

    wanted: frozenset[str]
    found: dict[str, int] = field(default_factory=dict)
    stack: list[_Container] = field(default_factory=list)

    def take(self, mark: str, offset: int) -> None:
        top = self.stack[-1] if self.stack else None
        if mark in "]}":
            self.stack.pop()
        elif mark == ",":
            self._comma(top)
        elif mark == ":":
            pass
        elif top is not None and top.is_object and top.key is None:
            self._key(top, mark, offset)
        else:
            self._value(top, mark, offset)

    def _comma(self, top: _Container | None) -> None:
        if top is not None:
            top.index += 1
            top.key = None

    def _key(self, top: _Container, mark: str, offset: int) -> None:
        top.key = str(loads(mark))
        self._note(top.next_child(), offset)

    def _value(self, top: _Container | None, mark: str, offset: int) -> None:
        pointer = top.next_child() if top is not None else ""
        if top is None or not top.is_object:
            self._note(pointer, offset)
        if mark in "[{":
            self.stack.append(_Container(pointer, mark == "{"))

    def _note(self, pointer: str, offset: int) -> None:
        if pointer in self.wanted:
            self.found[pointer] = offset


def locate(text: str, pointers: Iterable[str]) -> Mapping[str, Position]:
    """Where each pointer stands; one that names nothing stands where its nearest parent does.

    The text must be valid JSON.
    """
    asked = tuple(dict.fromkeys(pointers))
    scan = _Scan(frozenset(place for pointer in asked for place in _with_parents(pointer)))
    for match in _TOKEN.finditer(text):
        scan.take(match.group(), match.start())
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return {pointer: _position(starts, _nearest(scan.found, pointer)) for pointer in asked}


def _with_parents(pointer: str) -> Iterable[str]:
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]
    yield ""


def _nearest(found: Mapping[str, int], pointer: str) -> int:
    return next((found[place] for place in _with_parents(pointer) if place in found), 0)


def _position(starts: list[int], offset: int) -> Position:
    line = bisect_right(starts, offset)
    return Position(line, offset - starts[line - 1] + 1)
