"""What messages say: sentences by rule from reviewed names, never a value or an agent's word."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from approvals.models import ApprovalRequest
from contextos.core.text import single_line

_HEADLINES = {
    "opened": "{what} waits for your decision",
    "escalated": "{what} still waits; you are now asked too",
    "reminded": "{what} still waits for your decision",
    "approved": "{what} was approved",
    "rejected": "{what} was rejected",
    "expired": "{what} expired undecided",
    "cancelled": "{what} was cancelled",
    "voided": "{what} was voided: what was to be approved has changed",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """The parts of a message; `facts` are (name, value)."""

    headline: str
    facts: tuple[tuple[str, str], ...]
    waits: bool


def wording(request: ApprovalRequest, event: str) -> Wording:
    """Capability and mode as in the request's summary; its amount stays behind the sign-in."""
    what = single_line(request.capability_id, limit=100)
    waits = event in {"opened", "escalated", "reminded"}
    facts = [
        ("Capability", what),
        ("Mode", request.effective_mode.replace("_", " ")),
        ("Gate", single_line(request.gate_id, limit=100)),
    ]
    if waits:
        facts.append(("Decide before", _time(request.expires_at)))
    elif request.decided_at is not None:
        facts.append(("Decided at", _time(request.decided_at)))
    return Wording(_HEADLINES[event].format(what=what), tuple(facts), waits)


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
