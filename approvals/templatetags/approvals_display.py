"""Template filters for the pages about requests."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils.safestring import SafeString

from approvals.labels import VERDICT_WORDS, moment

register = template.Library()


@register.filter
def utc_moment(value: datetime | None) -> SafeString:
    """A time in UTC to which the browser adds the viewer's own."""
    return moment(value)


@register.filter
def verdict_past(value: str) -> str:
    """`approved` or `rejected`."""
    return VERDICT_WORDS.get(value, value)
