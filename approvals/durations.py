"""Waiting times as people say them: 1 day, 8 hours, 30 minutes."""

from __future__ import annotations

UNITS = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))
SECONDS = dict(UNITS)


def split(seconds: int) -> tuple[int, str]:
    """A count and the largest unit that says it without a rest."""
    for unit, size in UNITS:
        if seconds and seconds % size == 0:
            return seconds // size, unit
    return seconds, "seconds"


def in_words(seconds: float) -> str:
    """The two largest units, as in `1 day 4 hours`; less than a second is said so."""
    rest, parts = int(seconds), []
    for unit, size in UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit if count != 1 else unit[:-1]}")
    return " ".join(parts[:2]) or "less than a second"
