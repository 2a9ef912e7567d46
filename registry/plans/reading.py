"""Members of a document, read strictly: a wrong type is `plan.invalid`, with its place named."""

from collections.abc import Mapping
from typing import Any

from contextos.core.errors import ContextOSError
from registry.documents import refusal
from registry.validation import Problem


def invalid(pointer: str, message: str) -> ContextOSError:
    """The refusal of a document that can't be judged."""
    return refusal("plan.invalid", [Problem(pointer, message, "plan")])


def object_at(value: Any, pointer: str) -> Mapping[str, Any]:
    """An object that has to be there."""
    if not isinstance(value, dict):
        raise invalid(pointer, "Expected an object.")
    return value


def list_at(
    owner: Mapping[str, Any], name: str, place: str, *, required: bool = False
) -> list[Any]:
    """An array member; empty when absent."""
    value = owner.get(name)
    if value is None and not required:
        return []
    if not isinstance(value, list):
        raise invalid(f"{place}/{name}", "Expected an array.")
    return value


def text_at(owner: Mapping[str, Any], name: str, place: str) -> str | None:
    """A string member; None when absent."""
    value = owner.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid(f"{place}/{name}", "Expected a string.")
    return value


def texts_at(owner: Mapping[str, Any], name: str, place: str) -> tuple[str, ...]:
    """An array of strings, each once; empty when absent."""
    items = list_at(owner, name, place)
    if not all(isinstance(item, str) for item in items):
        raise invalid(f"{place}/{name}", "Expected an array of strings.")
    return tuple(dict.fromkeys(items))
