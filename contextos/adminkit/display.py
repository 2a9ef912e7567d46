"""Small pieces of safe HTML for lists and pages: labels, times, digests, quoted agent text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil

from contextos.core.modes import ApprovalMode
from contextos.core.text import reveal_invisible

Tone = Literal["success", "warning", "danger", "info", "neutral"]

MODE_TONES: dict[ApprovalMode, Tone] = {
    ApprovalMode.READ_ONLY: "neutral",
    ApprovalMode.LOCAL_WRITE: "info",
    ApprovalMode.NETWORK: "info",
    ApprovalMode.DELEGATED: "warning",
    ApprovalMode.DESTRUCTIVE: "danger",
}


def badge(text: str, tone: Tone = "neutral") -> SafeString:
    """A label. The words carry the meaning, the colour only repeats it."""
    return format_html('<span class="cos-badge cos-badge--{}">{}</span>', tone, text)


def mode_badge(mode: str) -> SafeString:
    """The label of one of the five approval modes; anything else is shown as unknown."""
    try:
        known = ApprovalMode(mode)
    except ValueError:
        return badge(f"unknown mode: {reveal_invisible(mode)}", "danger")
    return badge(known.value.replace("_", " "), MODE_TONES[known])


def untrusted(text: str) -> SafeString:
    """Text written by an agent or a tool: quoted, escaped, invisible characters made visible."""
    return format_html('<q class="cos-untrusted">{}</q>', reveal_invisible(text))


def short_hash(digest: str, *, keep: int = 12) -> SafeString:
    """The start of a digest; the whole one on hover and for screen readers to copy."""
    shown = digest.removeprefix("sha256:")[:keep]
    return format_html('<code class="cos-hash" title="{}">{}…</code>', digest, shown)


def when(moment: datetime | None, *, absent: str = "never") -> SafeString:
    """A time in UTC with how long ago or how soon."""
    if moment is None:
        return format_html('<span class="cos-when">{}</span>', absent)
    utc = moment.astimezone(UTC)
    return format_html(
        '<time class="cos-when" datetime="{}">{} UTC <span>{}</span></time>',
        utc.isoformat(timespec="seconds"),
        f"{utc:%Y-%m-%d %H:%M}",
        relative(moment),
    )


def relative(moment: datetime) -> str:
    """'3 hours ago' or 'in 2 days'; only the largest unit."""
    now = timezone.now()
    if timedelta(0) <= now - moment < timedelta(minutes=1):
        return "just now"
    if moment > now:
        return f"in {timeuntil(moment, now, depth=1)}"
    return f"{timesince(moment, now, depth=1)} ago"
