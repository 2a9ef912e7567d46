"""The life of a call as its decision rows and attempts tell it (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString

from contextos.adminkit.display import badge
from contextos.core.clock import parse_time
from contextos.core.text import reveal_invisible, single_line
from gateway.admin.labels import state_badge, status_badge, waiting_words
from gateway.critic import RECONCILED
from gateway.models import ToolCall
from gateway.states import CALLS

_SENTENCES = {
    "PROPOSED": "Proposed: calls of this mode are proposed before they may run.",
    "DEFERRED": "Handed over to long-running work.",
    "ESCALATED": "Waits for an answer or for more authority.",
    "EXECUTED": "Done, and the answer matches the reviewed contract.",
    "FAILED": "Called, and failed.",
    "REJECTED": "Refused before anything was called.",
    "EXPIRED": "Nobody decided in time.",
    "CANCELLED": "Cancelled.",
    "UNKNOWN": "It is not known whether the effect happened.",
}


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of the way."""

    at: datetime
    label: SafeString
    words: Sequence[str]
    record_hash: str = ""


@dataclass(frozen=True, slots=True)
class AttemptSeen:
    """What one attempt brought back, from its transcript."""

    at: datetime
    number: int
    status: str
    error: str = ""


def moments_of(
    call: ToolCall, rows: Iterable[Mapping[str, Any]], attempts: Iterable[AttemptSeen] = ()
) -> list[Moment]:
    """Oldest first; the last is where the call stands now, unless it has ended."""
    found = [*(moment_of_row(row) for row in rows), *(_of_attempt(seen) for seen in attempts)]
    found.sort(key=lambda moment: moment.at)
    return found if CALLS.is_terminal(call.state) else [*found, _now(call)]


def moment_of_row(row: Mapping[str, Any]) -> Moment:
    """What one row of the decision says."""
    status = str(row.get("status"))
    words = [_approved(row) if status == "APPROVED" else _sentence(row, status)]
    error = row.get("error")
    if isinstance(error, Mapping):
        words.append(single_line(f"{error.get('code')}: {error.get('message')}", limit=400))
    if row.get("attempts"):
        words.append(f"Attempts so far: {row['attempts']}.")
    words += _score(row.get("scorecard"))
    return Moment(
        parse_time(str(row["created_at"])),
        status_badge(status),
        [word for word in words if word],
        str(row.get("record_hash") or ""),
    )


def _sentence(row: Mapping[str, Any], status: str) -> str:
    """What the status says; where a person found it out, how they know stands beside it."""
    score = row.get("scorecard")
    findings = score.get("findings") or () if isinstance(score, Mapping) else ()
    found = [item for item in findings if item.get("code") == RECONCILED]
    if found and status == "EXECUTED":
        return single_line(str(found[0].get("message", "")), limit=2000)
    return _SENTENCES.get(status, "")


def _approved(row: Mapping[str, Any]) -> str:
    approvers = [
        str(vote.get("approver"))
        for approval in row.get("approvals") or ()
        for vote in approval.get("votes") or ()
        if vote.get("verdict") == "approve"
    ]
    if approvers:
        return f"Approved by {reveal_invisible(', '.join(approvers))}."
    return "Allowed by policy; calls of this mode need nobody's approval."


def _score(scorecard: Any) -> list[str]:
    if not isinstance(scorecard, Mapping) or scorecard.get("verdict") in (None, "accept"):
        return []
    listed = [str(item.get("message", "")) for item in scorecard.get("findings") or ()]
    verdict = single_line(str(scorecard["verdict"]))
    return [f"Critic: {verdict}.", *(single_line(text) for text in listed)]


def _of_attempt(seen: AttemptSeen) -> Moment:
    words = [f"Attempt {seen.number} came back as {seen.status}."]
    if seen.error:
        words.append(single_line(seen.error, limit=400))
    return Moment(seen.at, badge(f"attempt {seen.number}"), words)


def _now(call: ToolCall) -> Moment:
    said = waiting_words(call)
    words = [f"{'Waits ' if said.startswith('for') else 'Now '}{said}."] if said else []
    if call.cancel_reason:
        words.append("Cancelling was asked for; the worker passes it on at the next step.")
    if call.worker and call.lease_until:
        words.append(f"Held by {reveal_invisible(call.worker)}.")
    moment = call.due_at or call.lease_until or call.created_at
    return Moment(moment, state_badge(call.state), words)
