"""Proof, for simple anchored patterns, that one accepts no text that another refuses."""

import string
from dataclasses import dataclass
from enum import Enum

_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_PRINTABLE = frozenset(string.printable[:95])
_UNBOUNDED = 10**9


class PatternOrder(Enum):
    """How the texts that a new pattern accepts relate to those of the old one."""

    SAME = "same"
    NARROWER = "narrower"
    WIDER = "wider"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class _Atom:
    """Some characters, repeated so many times."""

    characters: frozenset[str]
    least: int
    most: int

    def within(self, other: "_Atom") -> bool:
        return (
            self.characters <= other.characters
            and other.least <= self.least
            and self.most <= other.most
        )


class _TooHardError(Exception):
    """The pattern uses something this proof does not understand."""


def compare_patterns(old: str, new: str) -> PatternOrder:
    """Compare two patterns part by part; anything but plain runs of characters is unproven."""
    if old == new:
        return PatternOrder.SAME
    try:
        before, after = _parse(old), _parse(new)
    except _TooHardError:
        return PatternOrder.UNPROVEN
    if len(before) != len(after):
        return PatternOrder.UNPROVEN
    pairs = list(zip(before, after, strict=True))
    narrower = all(new_atom.within(old_atom) for old_atom, new_atom in pairs)
    wider = all(old_atom.within(new_atom) for old_atom, new_atom in pairs)
    if narrower and wider:
        return PatternOrder.SAME
    if narrower:
        return PatternOrder.NARROWER
    return PatternOrder.WIDER if wider else PatternOrder.UNPROVEN


def _parse(pattern: str) -> list[_Atom]:
    # Without both anchors a pattern matches anywhere in a text, and parts prove nothing.
    if len(pattern) < 2 or not pattern.startswith("^") or not pattern.endswith("$"):
        raise _TooHardError
    body, atoms, at = pattern[1:-1], list[_Atom](), 0
    while at < len(body):
        characters, at = _characters(body, at)
        least, most, at = _repetition(body, at)
        atoms.append(_Atom(characters, least, most))
    return atoms


def _characters(body: str, at: int) -> tuple[frozenset[str], int]:
    if body[at] == "[":
        end = body.find("]", at)
        if end < 0:
            raise _TooHardError
        return _character_class(body[at + 1 : end]), end + 1
    if body[at] == "\\":
        return frozenset({_escaped(body, at)}), at + 2
    if body[at] in _SPECIAL or body[at] not in _PRINTABLE:
        raise _TooHardError
    return frozenset({body[at]}), at + 1


def _escaped(body: str, at: int) -> str:
    # Only escaped punctuation stands for itself; \d, \w, \b and the like do not.
    if at + 1 >= len(body) or body[at + 1] not in _SPECIAL:
        raise _TooHardError
    return body[at + 1]


def _character_class(inside: str) -> frozenset[str]:
    if not inside or any(letter in "\\[^&~" or letter not in _PRINTABLE for letter in inside):
        raise _TooHardError
    found: set[str] = set()
    at = 0
    while at < len(inside):
        if at + 2 < len(inside) and inside[at + 1] == "-":
            found.update(_range(inside[at], inside[at + 2]))
            at += 3
        elif inside[at] == "-" and 0 < at < len(inside) - 1:
            raise _TooHardError
        else:
            found.add(inside[at])
            at += 1
    return frozenset(found)


def _range(first: str, last: str) -> set[str]:
    if first == "-" or last == "-" or first > last:
        raise _TooHardError
    return {chr(code) for code in range(ord(first), ord(last) + 1)}


def _repetition(body: str, at: int) -> tuple[int, int, int]:
    sign = body[at] if at < len(body) else ""
    if sign == "{":
        end = body.find("}", at)
        least, most = _counts(body[at + 1 : end] if end > 0 else "")
        after = end + 1
    elif sign in ("*", "+", "?"):
        least, most = {"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}[sign]
        after = at + 1
    else:
        return 1, 1, at
    # A second sign makes the first lazy or possessive, or is an error.
    if after < len(body) and body[after] in "*+?{":
        raise _TooHardError
    return least, most, after


def _counts(text: str) -> tuple[int, int]:
    least, comma, most = text.partition(",")
    digits = frozenset(string.digits)
    if not least or not set(least + most) <= digits or len(text) > 12:
        raise _TooHardError
    lower = int(least)
    upper = int(most) if most else (_UNBOUNDED if comma else lower)
    if lower > upper:
        raise _TooHardError
    return lower, upper
