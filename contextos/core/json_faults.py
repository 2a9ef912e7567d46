"""Why a text is no usable document, and on which line and column that shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.json_places import json_values
from contextos.core.text import reveal_invisible

_PLACE = re.compile(r" at line \d+, column \d+")
_MALFORMED = "json.malformed"
_LINES_AROUND = 2
_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the text around a fault."""

    number: int
    text: str
    at_fault: bool


@dataclass(frozen=True, slots=True)
class JsonFault:
    """One refusal of the parser, as a person should read it."""

    message: str
    remediation: str
    line: int | None = None
    column: int | None = None
    excerpt: tuple[SourceLine, ...] = ()

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{place}{self.message} {self.remediation}"


def fault_of(text: str, error: ContextOSError) -> JsonFault:
    """A parser's refusal with its place in the text, as far as it has one."""
    line, column = _position(text, error)
    return JsonFault(
        message=_PLACE.sub("", error.message) if line else error.message,
        remediation=_remediation(text, error, line),
        line=line,
        column=column,
        excerpt=_excerpt(text, line) if line else (),
    )


def _remediation(text: str, error: ContextOSError, line: int | None) -> str:
    """The catalogue speaks to programs; a person who pasted a text looks for a slip in it."""
    if error.code != _MALFORMED or line is None:
        return error.remediation
    if not text.strip():
        return "There is no text yet: paste the document, or choose a file."
    return "Look at that place and just before it: often a comma, a quote or a bracket is missing."


def _position(text: str, error: ContextOSError) -> tuple[int | None, int | None]:
    if "line" in error.data:
        return int(error.data["line"]), int(error.data.get("column", 1))
    offset = _offset(text, error)
    if offset is None:
        return None, None
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _offset(text: str, error: ContextOSError) -> int | None:
    if error.code == "json.duplicate_key":
        return next((value.offset for value in json_values(text) if value.repeated), None)
    if error.code == "json.too_deep":
        limit = int(error.data.get("max_depth", strict_json.MAX_DEPTH))
        return next((value.offset for value in json_values(text) if value.depth >= limit), None)
    if error.code == "json.unstorable" and "pointer" in error.data:
        wanted = error.data["pointer"]
        return next((value.offset for value in json_values(text) if value.pointer == wanted), None)
    return None


def _excerpt(text: str, line: int) -> tuple[SourceLine, ...]:
    lines = text.split("\n")
    first, last = max(1, line - _LINES_AROUND), min(len(lines), line + _LINES_AROUND)
    return tuple(
        SourceLine(n, reveal_invisible(lines[n - 1][:_LONGEST_LINE].rstrip("\r")), n == line)
        for n in range(first, last + 1)
    )
