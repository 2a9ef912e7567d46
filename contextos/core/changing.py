"""The next version of a frozen value, for values that change often on their way."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def changed(value: T, **changes: Any) -> T:
    """As `dataclasses.replace`, without setting every member anew.

    For dataclasses without slots and without `__post_init__`, whose members are all there is.
    """
    kept = vars(value)
    if not changes.keys() <= kept.keys():
        raise TypeError(f"{type(value).__name__} has no {sorted(changes.keys() - kept.keys())}")
    copied = object.__new__(type(value))
    vars(copied).update(kept, **changes)
    return copied
