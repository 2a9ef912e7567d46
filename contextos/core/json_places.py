"""Where the values of a JSON text stand: each with its pointer, and a pointer with its line."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import escape

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text, counted from one as editors do."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class JsonValue:
    """One value of a text, where it begins, or its key; `repeated`: that key was there before."""

    pointer: str
    offset: int
    depth: int
    repeated: bool = False


@dataclass(slots=True)
class _Frame:
    """An object or array that is open."""

    pointer: str
    is_object: bool
    index: int = 0
    key: str | None = None
    key_offset: int = 0
    keys: set[str] = field(default_factory=set)

    def enter(self) -> tuple[str, bool]:
        """The pointer of the value that begins now, and whether its key was seen before."""
        if not self.is_object:
            return f"{self.pointer}/{self.index}", False
        key = self.key or ""
        repeated = key in self.keys
        self.keys.add(key)
        return f"{self.pointer}/{escape(key)}", repeated

    def step(self) -> None:
        """Pass a comma."""
        self.index += 1
        self.key = None


def locate(text: str, pointers: Iterable[str]) -> Mapping[str, Position]:
    """Where each pointer stands; one that names nothing stands where its nearest parent does."""
    asked = tuple(dict.fromkeys(pointers))
    wanted = frozenset(place for pointer in asked for place in _with_parents(pointer))
    found = {item.pointer: item.offset for item in json_values(text) if item.pointer in wanted}
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return {pointer: _position(starts, _nearest(found, pointer)) for pointer in asked}


def json_values(text: str) -> Iterator[JsonValue]:
    """Every value in order; unlike a parser it goes on over what strict JSON refuses."""
    frames: list[_Frame] = []
    for match in _TOKEN.finditer(text):
        mark, top = match.group(), frames[-1] if frames else None
        if mark in ("}", "]"):
            if not frames:
                return
            frames.pop()
        elif mark == ",":
            if top is not None:
                top.step()
        elif mark != ":" and not _is_key(top, mark, match.start()):
            pointer, repeated = top.enter() if top else ("", False)
            offset = top.key_offset if top and top.is_object else match.start()
            yield JsonValue(pointer, offset, len(frames), repeated)
            if mark in ("{", "["):
                frames.append(_Frame(pointer, is_object=mark == "{"))


def _is_key(frame: _Frame | None, mark: str, offset: int) -> bool:
    if frame is None or not frame.is_object or frame.key is not None or mark[0] != '"':
        return False
    frame.key, frame.key_offset = _unquoted(mark), offset
    return True


def _unquoted(mark: str) -> str:
    try:
        return str(strict_json.loads(mark, allow_unstorable=True))
    except ContextOSError:
        return mark


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
