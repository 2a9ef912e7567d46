"""Words and colours of requests; the words carry the meaning, the colour only repeats it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.figures import span
from approvals.gates import GateTerms
from approvals.models import ApprovalRequest
from approvals.services.requests import is_overdue
from approvals.states import RequestState
from contextos.adminkit.display import Tone, badge
from contextos.core.clock import utcnow
from contextos.core.text import single_line

STATE_TONES: dict[str, Tone] = {
    RequestState.PENDING: "info",
    RequestState.APPROVED: "success",
    RequestState.CONSUMED: "success",
    RequestState.REJECTED: "danger",
    RequestState.EXPIRED: "neutral",
    RequestState.CANCELLED: "neutral",
    RequestState.VOIDED: "warning",
}
VERDICT_WORDS = {"approve": "approved", "reject": "rejected"}
LONGEST_NAME = 120


def state_badge(state: str) -> SafeString:
    """Where a request stands."""
    label = RequestState(state).label if state in RequestState.values else state
    return badge(str(label), STATE_TONES.get(state, "neutral"))


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """How much time a request has, as words and as a colour."""

    words: str
    tone: Tone

    @property
    def label(self) -> SafeString:
        """As a badge."""
        return badge(self.words, self.tone)


def time_left(request: ApprovalRequest, terms: GateTerms, now: datetime | None = None) -> TimeLeft:
    """Red in the last quarter of its time, yellow in the half before; stopped by a question."""
    moment = now or utcnow()
    if request.state != RequestState.PENDING:
        return TimeLeft(str(RequestState(request.state).label), "neutral")
    if is_overdue(request, moment):
        return TimeLeft("time is up", "danger")
    if request.question_open:
        return TimeLeft("clock stopped", "info")
    left = request.expires_at - moment
    share = left.total_seconds() / terms.expires_after_seconds
    if share < 0.25:
        return TimeLeft(f"urgent: {span(left)} left", "danger")
    if share < 0.5:
        return TimeLeft(f"soon: {span(left)} left", "warning")
    return TimeLeft(f"{span(left)} left", "success")


def name(text: str) -> str:
    """A name or id on one line, nothing in it invisible, nothing endless."""
    return single_line(text, limit=LONGEST_NAME)


def asks(agent_id: str, person: str) -> SafeString:
    """Who asks, and on whose behalf."""
    if not person:
        return format_html("<b>{}</b> in its own name", name(agent_id))
    return format_html("<b>{}</b> on behalf of <b>{}</b>", name(agent_id), name(person))


def moment(at: datetime | None) -> SafeString:
    """A time in UTC; the browser adds the viewer's own."""
    if at is None:
        return SafeString("")
    utc = at.astimezone(UTC)
    return format_html(
        '<time class="ap-time" datetime="{}" data-local>{} UTC</time>',
        utc.isoformat(timespec="seconds"),
        f"{utc:%Y-%m-%d %H:%M:%S}",
    )
