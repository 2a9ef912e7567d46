"""Decided requests of a gate, read for a dry run; groups are those that people have today."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Prefetch

from approvals.dry_run import Outcome, PastRequest, PastVote
from approvals.gates import read_terms
from approvals.models import ApprovalRequest, ApproverGroup, GateVersion, Vote
from approvals.selectors import groups_by_user
from approvals.states import RequestState

MOST = 500
_ENDS = {
    RequestState.APPROVED.value: Outcome.APPROVED,
    RequestState.CONSUMED.value: Outcome.APPROVED,
    RequestState.REJECTED.value: Outcome.REJECTED,
    RequestState.EXPIRED.value: Outcome.EXPIRED,
}


def past_requests(*, tenant_id: str, gate_id: str, since: datetime) -> list[PastRequest]:
    """The latest ones that people, or the clock, decided; at most MOST."""
    votes = Vote.objects.filter(withdrawn_at__isnull=True).select_related(
        "approver", "on_behalf_of"
    )
    rows = list(
        ApprovalRequest.objects.filter(
            tenant_id=tenant_id, gate_id=gate_id, created_at__gte=since, state__in=list(_ENDS)
        )
        .order_by("-approval_id")
        .prefetch_related(Prefetch("votes", queryset=votes))[:MOST]
    )
    belongs = groups_by_user(ApproverGroup.objects.filter(tenant_id=tenant_id))
    quorums = dict(
        GateVersion.objects.filter(pk__in={row.gate_version_id for row in rows}).values_list(
            "pk", "quorum"
        )
    )
    return [_past(row, belongs, quorums) for row in rows]


def _past(
    row: ApprovalRequest, belongs: dict[int, frozenset[str]], quorums: dict[str, int]
) -> PastRequest:
    asked = read_terms(row.terms).quorum
    raised = asked > quorums.get(row.gate_version_id, asked)
    return PastRequest(
        approval_id=row.pk,
        created_at=row.created_at,
        actual=_ENDS[row.state],
        votes=tuple(_vote(vote, belongs) for vote in row.votes.all()),
        mode=row.effective_mode,
        paused=timedelta(milliseconds=row.paused_ms),
        policy_quorum=asked if raised else None,
    )


def _vote(vote: Vote, belongs: dict[int, frozenset[str]]) -> PastVote:
    person = vote.on_behalf_of or vote.approver
    return PastVote(
        voter=vote.approver.user_id,
        verdict=vote.verdict,
        at=vote.created_at,
        groups=belongs.get(person.pk, frozenset()),
        factor=bool(vote.factor),
    )
