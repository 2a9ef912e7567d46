"""What went before: similar decisions, what they say about risk, and a request's own history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max, Q
from django.utils.safestring import SafeString

from approvals.admin.frame import url_of
from approvals.admin.reading import Reading
from approvals.figures import Figures, span
from approvals.labels import VERDICT_WORDS, name, state_badge
from approvals.models import ApprovalRequest, Remark, Vote
from approvals.risk_words import RiskFacts
from approvals.states import RequestState

SIMILAR = 10
_YES = (RequestState.APPROVED, RequestState.CONSUMED)
_ENDS = {
    RequestState.APPROVED: "Approved",
    RequestState.CONSUMED: "Approved",
    RequestState.REJECTED: "Rejected",
    RequestState.EXPIRED: "Expired: nobody decided in time",
    RequestState.CANCELLED: "Cancelled by the caller",
    RequestState.VOIDED: "Voided",
}


@dataclass(frozen=True, slots=True)
class Similar:
    """A decision about the same capability."""

    url: str
    amount: str
    state: SafeString
    took: str
    by: str
    at: datetime


def similar_decisions(reading: Reading, figures: Figures) -> list[Similar]:
    """The last ones that the viewer may see."""
    request = reading.request
    rows = (
        reading.viewer.visible()
        .filter(capability_id=request.capability_id, decided_at__isnull=False)
        .exclude(pk=request.pk)
        .order_by("-decided_at")
        .defer("view", "terms")[:SIMILAR]
    )
    found = list(rows)
    voters = _voters([row.pk for row in found])
    return [_similar(row, figures, voters.get(row.pk, [])) for row in found]


def _similar(row: ApprovalRequest, figures: Figures, voters: list[str]) -> Similar:
    at = row.decided_at or row.created_at
    return Similar(
        url=url_of(row),
        amount=figures.amount(row.amount, row.unit) or "no amount",
        state=state_badge(row.state),
        took=span(at - row.created_at),
        by=", ".join(voters) or "nobody",
        at=at,
    )


def _voters(requests: list[str]) -> dict[str, list[str]]:
    votes = Vote.objects.filter(request__in=requests, withdrawn_at__isnull=True)
    found: dict[str, list[str]] = {}
    for vote in votes.select_related("approver"):
        found.setdefault(vote.request_id, []).append(name(str(vote.approver)))
    return found


def risk_facts(request: ApprovalRequest) -> RiskFacts:
    """What the sentences about risk are made from, measured at this gate in one statement."""
    earlier = Q(created_at__lt=request.created_at)
    alike = Q(state=RequestState.PENDING, likeness=request.likeness, agent_id=request.agent_id)
    rows = ApprovalRequest.objects.filter(
        tenant_id=request.tenant_id,
        gate_id=request.gate_id,
        capability_id=request.capability_id,
    )
    seen: dict[str, Any] = rows.aggregate(
        largest=Max("amount", filter=earlier & Q(unit=request.unit, state__in=_YES)),
        anyone=Count("pk", filter=earlier),
        agent=Count("pk", filter=earlier & Q(agent_id=request.agent_id)),
        rejected=Count("pk", filter=earlier & Q(state=RequestState.REJECTED)),
        decided=Count("pk", filter=earlier & Q(decided_at__isnull=False)),
        alike=Count("pk", filter=alike),
    )
    largest: Decimal | None = seen["largest"]
    return RiskFacts(
        mode=request.effective_mode,
        reversible=bool(request.view.get("reversible")),
        asked_at=request.created_at,
        amount=request.amount,
        unit=request.unit,
        largest_approved=largest,
        asked_before_by_agent=seen["agent"],
        asked_before_by_anyone=seen["anyone"],
        rejected_before=(seen["rejected"], seen["decided"]),
        alike_waiting=seen["alike"],
        on_behalf_of_person=bool(request.user_id),
    )


# --- the history of one request ------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happened, as it stands in print."""

    at: datetime
    title: str
    who: str = ""
    words: str = ""
    factor: str = ""
    digest: str = ""
    kind: str = ""
    written: bool = False  # the words are somebody's own


def history(reading: Reading, remarks: list[Remark]) -> list[Moment]:
    """From the ask to the end, oldest first."""
    request = reading.request
    moments = [Moment(request.created_at, "Asked for", name(request.agent_id), kind="asked")]
    for vote in reading.votes:
        moments.extend(_of_vote(vote))
    moments.extend(_of_remark(remark) for remark in remarks)
    if request.decided_at and request.state in _ENDS:
        words = request.void_reason if request.state == RequestState.VOIDED else ""
        title = _ENDS[RequestState(request.state)]
        moments.append(Moment(request.decided_at, title, words=words, kind="end"))
    if request.closed_at and request.state == RequestState.CONSUMED:
        moments.append(Moment(request.closed_at, "Handed over to run, once", kind="end"))
    return sorted(moments, key=lambda moment: moment.at)


def _of_vote(vote: Vote) -> list[Moment]:
    who = name(str(vote.approver))
    if vote.on_behalf_of:
        who = f"{who}, for {name(str(vote.on_behalf_of))}"
    factor = {"totp": "code from the app", "": "none asked for"}.get(vote.factor, vote.factor)
    cast = Moment(
        vote.created_at,
        f"Vote: {VERDICT_WORDS.get(vote.verdict, vote.verdict)}",
        who,
        vote.reason,
        factor,
        vote.digest,
        vote.verdict,
        written=True,
    )
    if vote.withdrawn_at is None:
        return [cast]
    return [cast, Moment(vote.withdrawn_at, "Vote withdrawn", who, kind="withdrawn")]


def _of_remark(remark: Remark) -> Moment:
    title = {"question": "Question; the clock stops", "answer": "Answer; the clock goes on"}
    return Moment(
        remark.created_at,
        title.get(remark.kind, "Comment"),
        name(str(remark.author)),
        remark.text,
        kind=remark.kind,
        written=True,
    )
