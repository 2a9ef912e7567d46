"""Middles and shares for reports; pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def middle(values: Sequence[float]) -> float | None:
    """Half are within it."""
    return round(median(values), 3) if values else None


def nine_of_ten(values: Sequence[float]) -> float | None:
    """The smallest value that nine of ten stay within."""
    if not values:
        return None
    return round(sorted(values)[-(-len(values) * 9 // 10) - 1], 3)


def share(part: int, whole: int) -> float | None:
    """0 to 1; of nothing there is none."""
    return part / whole if whole else None
