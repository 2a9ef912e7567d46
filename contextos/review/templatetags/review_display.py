"""Template filters that show states, verdicts, severities, times and untrusted text safely."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from contextos.adminkit.display import mode_badge, short_hash, untrusted, when
from contextos.core.text import reveal_invisible
from contextos.review.labels import severity_badge, state_badge, verdict_badge

register = template.Library()


@register.filter
def moment(value: datetime | None) -> SafeString:
    """A time in UTC with how long ago."""
    return when(value)


@register.filter
def revealed(value: object) -> str:
    """Text with its invisible characters spelt out; escaped by the template as all text."""
    return reveal_invisible(str(value))


@register.filter
def prose(value: object) -> SafeString:
    """A sentence in which `names` stand between backticks, as findings write them."""
    parts = reveal_invisible(str(value)).split("`")
    marks = ("<code>{}</code>" if index % 2 else "{}" for index in range(len(parts)))
    return format_html("".join(marks), *parts)


@register.filter
def quoted(value: object) -> SafeString:
    """Text written by others, visibly quoted."""
    return untrusted(str(value))


@register.filter
def state_label(value: str) -> SafeString:
    """Where a version stands."""
    return state_badge(value)


@register.filter
def verdict_label(value: str) -> SafeString:
    """What a reviewer said."""
    return verdict_badge(value)


@register.filter
def severity_label(value: str) -> SafeString:
    """What a finding does to the version."""
    return severity_badge(value)


@register.filter
def mode_label(value: str) -> SafeString:
    """One of the five modes."""
    return mode_badge(value)


@register.filter
def digest_label(value: str) -> SafeString:
    """The start of a digest, the whole on hover."""
    return short_hash(value)
