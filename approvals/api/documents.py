"""Requests as REST shows them: the members of the contract, no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from approvals.arguments import ArgumentReader
from approvals.gates import read_terms
from approvals.models import ApprovalRequest, Vote
from contextos.core.clock import format_time
from contextos.identity.models import User


def documents_of(
    requests: Sequence[ApprovalRequest], *, viewer: User, tenant_id: str
) -> list[dict[str, Any]]:
    """Each request for one viewer; the number of statements does not grow with their number."""
    votes = _votes_on(requests)
    arguments = ArgumentReader(viewer, tenant_id).read(requests)
    return [_document(each, votes[each.pk], arguments[each.pk]) for each in requests]


def document_of(request: ApprovalRequest, *, viewer: User) -> dict[str, Any]:
    """One request for one viewer."""
    return documents_of([request], viewer=viewer, tenant_id=request.tenant_id)[0]


def _document(request: ApprovalRequest, votes: Sequence[Vote], arguments: Any) -> dict[str, Any]:
    view = request.view
    return {
        "approval_id": request.pk,
        "gate": request.gate_id,
        "gate_version": request.gate_version,
        "subject": {
            "kind": request.subject_kind,
            "id": request.subject_id,
            "digest": request.digest,
        },
        "summary": view["summary"],
        "arguments": arguments,
        "evidence_refs": view["evidence_refs"],
        "policy_decision_id": request.policy_decision_id or None,
        "effective_mode": request.effective_mode,
        "requested_by": view["requested_by"],
        "quorum": {
            "needed": read_terms(request.terms).quorum,
            "approve": sum(vote.verdict == "approve" for vote in votes),
            "deny": sum(vote.verdict == "reject" for vote in votes),
        },
        "votes": [_vote(vote) for vote in votes],
        "state": str(request.state),
        "expires_at": format_time(request.expires_at),
        "escalates_at": _time(request.escalates_at),
    }


def _vote(vote: Vote) -> dict[str, Any]:
    return {
        "approver": vote.approver.user_id,
        "verdict": vote.verdict,
        "reason": vote.reason,
        "factor": vote.factor or None,
        "on_behalf_of": vote.on_behalf_of.user_id if vote.on_behalf_of else None,
        "digest": vote.digest,
        "at": format_time(vote.created_at),
    }


def _votes_on(requests: Sequence[ApprovalRequest]) -> defaultdict[str, list[Vote]]:
    found: defaultdict[str, list[Vote]] = defaultdict(list)
    rows = Vote.objects.filter(
        request__in=[request.pk for request in requests], withdrawn_at__isnull=True
    )
    for vote in rows.select_related("approver", "on_behalf_of"):
        found[vote.request_id].append(vote)
    return found


def _time(moment: datetime | None) -> str | None:
    return format_time(moment) if moment else None
