"""A document as text for people: to edit, and line by line with what findings link to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from contextos.core import strict_json
from contextos.core.json_pointer import escape
from contextos.core.text import reveal_invisible

LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """One line; `anchor` is set where a value begins."""

    number: int
    text: str
    anchor: str


def pretty(value: Any) -> str:
    """JSON set out for reading and editing, members in the order they have."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode("utf-8")
    except TypeError:  # integers beyond 64 bits
        return strict_json.dumps(value)


def anchor_of(pointer: str) -> str:
    """The id of a value's line in the page."""
    return f"at{pointer or '/'}".replace(" ", "%20")


def document_lines(document: Any) -> list[DocumentLine]:
    """The document set out, invisible characters spelt out; very long ones are cut."""
    found: list[DocumentLine] = []
    for number, (pointer, text) in enumerate(_lines(document, "", 0, "", ""), start=1):
        if number > LONGEST:
            found.append(DocumentLine(number, "… cut here; download the whole document", ""))
            break
        anchor = anchor_of(pointer) if pointer is not None else ""
        found.append(DocumentLine(number, reveal_invisible(text), anchor))
    return found


def _lines(
    value: Any, pointer: str, depth: int, head: str, tail: str
) -> Iterator[tuple[str | None, str]]:
    pad = "  " * depth
    if isinstance(value, dict) and value:
        yield pointer, f"{pad}{head}{{"
        yield from _members(value, pointer, depth + 1)
        yield None, f"{pad}}}{tail}"
    elif isinstance(value, list) and value:
        yield pointer, f"{pad}{head}["
        last = len(value) - 1
        for index, item in enumerate(value):
            comma = "" if index == last else ","
            yield from _lines(item, f"{pointer}/{index}", depth + 1, "", comma)
        yield None, f"{pad}]{tail}"
    else:
        yield pointer, f"{pad}{head}{strict_json.dumps(value)}{tail}"


def _members(value: dict[str, Any], pointer: str, depth: int) -> Iterator[tuple[str | None, str]]:
    last = len(value) - 1
    for index, (key, item) in enumerate(value.items()):
        comma = "" if index == last else ","
        head = f"{strict_json.dumps(key)}: "
        yield from _lines(item, f"{pointer}/{escape(key)}", depth, head, comma)
