"""Values put into sentences: short, on one line, and with nothing in them invisible."""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

from contextos.core.text import has_invisible, single_line
from registry.risk_diff.values import MISSING

_SHORT = 120
_LONG = 400
_LISTED = 6
_OUR_WORDS = ("the ", "a ", "an ", "each ", "whatever ", "any ")
_HIDDEN_CHARACTERS = (
    " It holds characters that cannot be seen or that turn the reading direction;"
    " they are spelt out here."
)


def as_sentence(message: str) -> str:
    """The message with a capital, unless it begins with somebody's identifier."""
    if message.startswith(_OUR_WORDS):
        return message[:1].upper() + message[1:]
    return message


def show(value: object) -> str:
    """A value as it stands in a sentence."""
    if value is MISSING or value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return show_text(value)
    return single_line(_as_json(value), limit=_SHORT)


@lru_cache(maxsize=4096)
def show_text(text: str) -> str:
    """A string as it stands in a sentence: quoted unless it is one plain word."""
    line = single_line(text, limit=_SHORT)
    return line if line and line == text and " " not in line else f"“{line}”"


def show_prose(value: object) -> str:
    """A longer text, quoted, for descriptions and purposes."""
    if isinstance(value, str):
        return f"“{single_line(value, limit=_LONG)}”"
    return show(value)


def show_list(values: Iterable[object]) -> str:
    """Several values as an enumeration that never grows beyond a line."""
    shown = [show(value) for value in values]
    if len(shown) > _LISTED:
        shown = [*shown[:_LISTED], f"{len(shown) - _LISTED} more"]
    if len(shown) < 2:
        return shown[0] if shown else "nothing"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def warn_of_hidden(values: Sequence[object]) -> str:
    """A sentence of warning where a text holds what a reader would not see; else nothing."""
    hidden = any(isinstance(value, str) and has_invisible(value) for value in values)
    return _HIDDEN_CHARACTERS if hidden else ""


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError, TypeError):
        return "a value too deeply nested to show"
