"""Tolerant reads from untrusted JSON: a member of the wrong type reads as if it were absent."""

from collections.abc import Mapping, Sequence
from typing import Any

JSONObject = Mapping[str, Any]


def text(owner: JSONObject, name: str) -> str:
    """A string member without surrounding white space; empty when absent or of another type."""
    value = owner.get(name)
    return value.strip() if isinstance(value, str) else ""


def mapping(owner: JSONObject, name: str) -> JSONObject:
    """An object member; empty when absent or of another type."""
    value = owner.get(name)
    return value if isinstance(value, dict) else {}


def sequence(owner: JSONObject, name: str) -> Sequence[Any]:
    """An array member; empty when absent or of another type."""
    value = owner.get(name)
    return value if isinstance(value, list) else ()


def texts(owner: JSONObject, name: str) -> tuple[str, ...]:
    """The strings in an array member that are not blank."""
    return tuple(item for item in sequence(owner, name) if isinstance(item, str) and item.strip())


def objects(owner: JSONObject, name: str) -> tuple[tuple[int, JSONObject], ...]:
    """The objects in an array member, each with its index."""
    return tuple(
        (index, item) for index, item in enumerate(sequence(owner, name)) if isinstance(item, dict)
    )


def is_true(owner: JSONObject, name: str) -> bool:
    """Whether a member is the JSON value `true`; `"true"` and `1` are not."""
    return owner.get(name) is True


def positive_number(owner: JSONObject, name: str) -> bool:
    """Whether a member is a number above zero."""
    value = owner.get(name)
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
