"""Template filters of the pages about gates and delegations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

from approvals.durations import in_words

register = template.Library()


@register.filter
def notes_at(beside: Mapping[str, Sequence[Any]], pointer: str) -> Sequence[Any]:
    """The findings about one field."""
    return beside.get(f"f{pointer}", ())


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds as people say them."""
    return "" if seconds is None else in_words(seconds)
