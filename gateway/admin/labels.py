"""Labels of runs and calls: states, who for whom, waits; the words carry the meaning."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from contextos.adminkit.display import Tone, badge, relative
from contextos.core.text import reveal_invisible
from gateway.models import ToolCall
from gateway.states import CallState

STATE_TONES: dict[str, Tone] = {
    CallState.PAUSED: "warning",
    CallState.QUEUED: "info",
    CallState.EXECUTING: "info",
    CallState.WORKING: "info",
    CallState.INPUT_REQUIRED: "warning",
    CallState.OK: "success",
    CallState.FAILED: "danger",
    CallState.REJECTED: "danger",
    CallState.CANCELLED: "neutral",
    CallState.UNKNOWN_OUTCOME: "danger",
}
STATUS_TONES: dict[str, Tone] = {
    "PROPOSED": "info",
    "DEFERRED": "info",
    "ESCALATED": "warning",
    "APPROVED": "success",
    "EXECUTED": "success",
    "FAILED": "danger",
    "REJECTED": "danger",
    "EXPIRED": "neutral",
    "CANCELLED": "neutral",
    "UNKNOWN": "danger",
}


def state_badge(state: str) -> SafeString:
    """Where a call stands."""
    label = CallState(state).label if state in CallState.values else state
    return badge(str(label), STATE_TONES.get(state, "neutral"))


def status_badge(status: str) -> SafeString:
    """What a row of the decision record says."""
    return badge(status.capitalize(), STATUS_TONES.get(status, "neutral"))


def write_badge(call: ToolCall) -> SafeString:
    """Says so when the call can change something."""
    return badge("write", "warning") if call.is_write else SafeString("")


def on_behalf(agent_id: str, user: str) -> SafeString:
    """The agent, and the person it acted for."""
    agent = reveal_invisible(agent_id)
    if not user:
        return format_html('<span class="gw-cell">{}</span>', agent)
    return format_html(
        '<span class="gw-cell">{} <span class="gw-quiet">for</span> {}</span>',
        agent,
        reveal_invisible(user),
    )


def named_cell(name: str, *below: str) -> SafeString:
    """A name with smaller lines below it."""
    lines = format_html_join("", '<span class="gw-id">{}</span>', ((line,) for line in below))
    return format_html('<span class="gw-cell gw-cell--name"><b>{}</b>{}</span>', name, lines)


def stacked(first: SafeString | str, *below: str) -> SafeString:
    """Something with smaller lines below it; empty lines are left out."""
    lines = ((line,) for line in below if line)
    shown = format_html_join("", '<span class="gw-id">{}</span>', lines)
    return format_html('<span class="gw-cell">{}{}</span>', first, shown)


def waiting_words(call: ToolCall) -> str:
    """What the call waits for, and since or until when; nothing once it has ended."""
    if call.state == CallState.QUEUED:
        return f"queued, due {_when(call.due_at)}" if call.due_at else "queued"
    if call.state == CallState.EXECUTING:
        return _leased(call.lease_until)
    if call.state == CallState.WORKING:
        return f"next poll {_when(call.due_at)}" if call.due_at else _leased(call.lease_until)
    if call.state == CallState.INPUT_REQUIRED:
        return f"for an answer, given up {_when(call.ends_at)}" if call.ends_at else "for an answer"
    if call.state == CallState.PAUSED and call.ends_at:
        return f"for the person's consent, given up {_when(call.ends_at)}"
    if call.state == CallState.PAUSED:
        return f"for approval, asked {_when(call.created_at)}"
    return "for an operator" if call.state == CallState.UNKNOWN_OUTCOME else ""


def _leased(until: datetime | None) -> str:
    if until is None:
        return ""
    return f"lease {'ran out' if until < timezone.now() else 'ends'} {_when(until)}"


def _when(moment: datetime) -> str:
    """How long ago or how soon; the next minute is a moment."""
    ahead = moment - timezone.now()
    return "in a moment" if timedelta(0) < ahead < timedelta(minutes=1) else relative(moment)


def age(start: datetime, end: datetime | None = None) -> str:
    """How long it took, or has been going on."""
    return length((end or timezone.now()) - start)


def length(span: timedelta) -> str:
    """`340 ms`, `12 s`, `4 min`, `3 h`, `2 days`."""
    seconds = max(0.0, span.total_seconds())
    if seconds < 1:
        return f"{int(seconds * 1000)} ms"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds / size)} {unit}"
    return f"{int(seconds / 86_400)} days"


def money(cents: int) -> str:
    """Cents as an amount without a currency, which manifests do not name."""
    return f"{cents / 100:,.2f}"
