"""Reads JSON objects member by member; a member that is missing or odd is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

Json = Mapping[str, Any]
T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class Misshapen(ValueError):
    """The text is JSON, but not the object the contract promises."""


def parse_object(text: bytes) -> Json:
    """One strict JSON object; NaN and bare values are refused."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as fault:
        raise Misshapen(f"it is not JSON: {fault}") from fault
    if not isinstance(value, dict):
        raise Misshapen("it is not a JSON object")
    return value


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON value")


class Members:
    """The members of one object, each read as the type it must have."""

    def __init__(self, raw: Json, where: str) -> None:
        self.raw = raw
        self._where = where

    def text(self, name: str) -> str:
        """A string that has to be there."""
        return self._typed(name, str)

    def integer(self, name: str) -> int:
        """A whole number that has to be there."""
        return self._typed(name, int)

    def flag(self, name: str) -> bool:
        """True or false; absent is false."""
        return bool(self.maybe(name, bool))

    def maybe(self, name: str, kind: type[T]) -> T | None:
        """A value of this type, or None when it is absent or null."""
        return None if self.raw.get(name) is None else self._typed(name, kind)

    def choice(self, name: str, kind: type[E]) -> E:
        """One of the words of an enumeration."""
        word = self.text(name)
        try:
            return kind(word)
        except ValueError:
            raise self._misshapen(name, f"has the unknown value {word[:80]!r}") from None

    def object(self, name: str) -> Json:
        """An object; absent or null is an empty one."""
        return self.maybe(name, dict) or {}

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings; absent is an empty one."""
        listed = self.items(name)
        if not all(isinstance(item, str) for item in listed):
            raise self._misshapen(name, "does not hold strings only")
        return listed

    def items(self, name: str) -> tuple[Any, ...]:
        """A list; absent is an empty one."""
        return tuple(self.maybe(name, list) or ())

    def each(self, name: str, read: Callable[[Json], T]) -> tuple[T, ...]:
        """A list of objects, each read by the function."""
        listed = self.items(name)
        if not all(isinstance(item, dict) for item in listed):
            raise self._misshapen(name, "does not hold objects only")
        return tuple(read(item) for item in listed)

    def part(self, name: str, read: Callable[[Json], T]) -> T | None:
        """An object read by the function, or None when it is absent or null."""
        found: Json | None = self.maybe(name, dict)
        return None if found is None else read(found)

    def _typed(self, name: str, kind: type[T]) -> T:
        value = self.raw.get(name)
        # A truth value counts as a number in Python, but not in JSON.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self._misshapen(name, f"is not {_NAMES[kind]}")
        return value

    def _misshapen(self, name: str, fault: str) -> Misshapen:
        return Misshapen(f"{self._where}.{name} {fault}")


_NAMES: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}
