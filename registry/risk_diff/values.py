"""JSON values compared the way JSON Schema compares them, whatever their shape or depth."""

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, TypeGuard


class Missing(Enum):
    """The absence of a member, which is not the same as null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


def same(left: object, right: object) -> bool:
    """Whether two values are equal JSON: `true` is not 1, 1.0 is 1, order of members is nothing.

    Iterative, so that depth is no danger; scalars, by far the most, are not stacked at all.
    """
    if left is right:
        return True
    if not isinstance(left, dict | list):
        return _same_scalars(left, right)
    pending: list[tuple[object, object]] = [(left, right)]
    while pending:
        if not _same_outside(*pending.pop(), pending):
            return False
    return True


def _same_outside(one: object, other: object, pending: list[tuple[object, object]]) -> bool:
    """Whether two values agree as far as can be seen; what is inside them is put on the stack."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs: Iterable[tuple[object, object]] = ((one[key], other[key]) for key in one)
        agree = one.keys() == other.keys()
    elif isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        agree = len(one) == len(other)
    else:
        return _same_scalars(one, other)
    if not agree:
        return False
    for inner, outer in pairs:
        if inner is not outer:
            if isinstance(inner, dict | list):
                pending.append((inner, outer))
            elif not _same_scalars(inner, outer):
                return False
    return True


def _same_scalars(one: object, other: object) -> bool:
    if isinstance(one, str):
        return one == other
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return one == other


def missing_from(candidates: Sequence[object], known: Sequence[object]) -> list[object]:
    """The candidates that are not among the known values, each once, in their order."""
    scalars = {_scalar_key(value) for value in known if is_scalar(value)}
    containers = [value for value in known if not is_scalar(value)]
    found: list[object] = []
    for candidate in candidates:
        if is_scalar(candidate):
            key = _scalar_key(candidate)
            if key not in scalars:
                scalars.add(key)
                found.append(candidate)
        elif not any(same(candidate, value) for value in containers):
            containers.append(candidate)
            found.append(candidate)
    return found


def is_scalar(value: object) -> bool:
    """Whether a value has no parts."""
    return not isinstance(value, dict | list)


def _scalar_key(value: object) -> tuple[str, object]:
    if isinstance(value, bool) or value is None or value is MISSING:
        return ("word", str(value))
    if isinstance(value, float) and math.isnan(value):
        return ("word", "nan")
    return ("number" if isinstance(value, int | float) else "text", value)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number that can be compared: not a boolean, not NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not math.isnan(value)


def member(value: object, name: str) -> object:
    """A member of an object, or MISSING where there is no object or no such member."""
    if isinstance(value, dict):
        found: object = value.get(name, MISSING)
        return found
    return MISSING


def is_absent(value: object) -> bool:
    """Whether a member says nothing: left out, or null."""
    return value is MISSING or value is None


def list_of(value: object) -> list[object] | None:
    """The entries of a list (none for an absent one); None for any other shape."""
    if is_absent(value):
        return []
    return value if isinstance(value, list) else None


def names_of(value: object) -> list[str]:
    """The text entries of a list; entries of any other shape are left to the catch-all."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
