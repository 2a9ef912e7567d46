"""Votes: lock, check in the order of the contract, count, decide (D2-D4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from approvals.gates import GateTerms, read_terms, tally
from approvals.models import ApprovalRequest, Vote
from approvals.selectors import why_not
from approvals.services.requests import is_overdue, locked, move, tell
from approvals.states import RequestState
from approvals.wires import wake_subject
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import new_id
from contextos.core.text import has_invisible
from contextos.identity.actors import person
from contextos.identity.models import User
from contextos.identity.second_factor import seconds_to_wait, verify_code

APPROVE, REJECT = "approve", "reject"
MAX_REASON = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """What somebody says about a request, and what they had in front of them."""

    verdict: str
    digest: str | None
    reason: str = ""
    code: str | None = None
    on_behalf_of: User | None = None
    seconds_seen: float | None = None


def cast_vote(*, tenant_id: str, approval_id: str, approver: User, ballot: Ballot) -> Vote:
    """One person's vote; the last one needed decides, and only once however many race.

    A refused attempt leaves a trace of its own: trying to approve one's own request is news.
    """
    try:
        vote = _cast(tenant_id, approval_id, approver, ballot)
    except ContextOSError as refused:
        if refused.code == "approval.own_request":
            _record_attempt(tenant_id, approval_id, approver, ballot, refused)
        raise
    if vote is None:
        raise _wrong_code(seconds_to_wait(user=approver))
    return vote


def _wrong_code(wait: int) -> ContextOSError:
    if not wait:
        return coded_error("otp.invalid")
    # A right code is refused too meanwhile: the words must not send people after a clock fault.
    said = f"Too many wrong codes: none is taken for the next {wait} seconds."
    return coded_error(
        "otp.invalid",
        message=said,
        remediation="Wait that long, then send the code that your app shows by then.",
        retry_after_ms=wait * 1000,
    )


@transaction.atomic
def _cast(tenant_id: str, approval_id: str, approver: User, ballot: Ballot) -> Vote | None:
    """None for a wrong code: that try has to be committed, or guessing would cost nothing."""
    now = utcnow()
    request = locked(tenant_id, approval_id)
    terms = read_terms(request.terms)
    _require_eligible(approver, request, ballot, now)
    _require_pending(request, now)
    if ballot.digest != request.digest:
        raise coded_error("approval.stale_digest")
    reason = _required_reason(request, ballot)
    factor = _required_factor(approver, terms, request, ballot)
    if factor is None:
        return None
    vote = _entered(request, approver, ballot, reason, factor, now)
    tell(
        request,
        "voted",
        person(approver, tenant_id),
        reason=reason,
        data=_facts(vote, ballot.on_behalf_of),
    )
    _count(request, terms, approver, now)
    return vote


@transaction.atomic
def withdraw_vote(*, tenant_id: str, approval_id: str, approver: User) -> ApprovalRequest:
    """Take one's vote back while nothing has run; an approved request may wait again."""
    request = locked(tenant_id, approval_id)
    if request.state not in (RequestState.PENDING, RequestState.APPROVED):
        raise coded_error("approval.not_pending", data={"state": str(request.state)})
    mine = Vote.objects.filter(request=request, approver=approver, withdrawn_at__isnull=True)
    if not mine.update(withdrawn_at=utcnow()):
        raise coded_error("approval.nothing_to_withdraw")
    terms = read_terms(request.terms)
    stage = _standing(request, terms)[0]
    if request.state == RequestState.APPROVED and stage < len(terms.stages):
        move(request, RequestState.PENDING, stage=stage, decided_at=None)
    else:
        ApprovalRequest.objects.filter(pk=request.pk).update(stage=stage)
        request.stage = stage
    tell(request, "vote_withdrawn", person(approver, tenant_id))
    return request


# --- the checks, in the order of the contract ----------------------------------------------------
def _require_eligible(
    approver: User, request: ApprovalRequest, ballot: Ballot, now: datetime
) -> None:
    refused = why_not(approver, request, ballot.on_behalf_of, now=now)
    if refused is not None and not (refused.code == "approval.already_voted" and _over(request)):
        raise coded_error(refused.code, message=refused.sentence)


def _over(request: ApprovalRequest) -> bool:
    return request.state != RequestState.PENDING


def _require_pending(request: ApprovalRequest, now: datetime) -> None:
    if _over(request):
        raise coded_error("approval.not_pending", data={"state": str(request.state)})
    if is_overdue(request, now):
        raise coded_error("approval.not_pending", message="The request has expired.")


def _required_reason(request: ApprovalRequest, ballot: Ballot) -> str:
    reason = " ".join(ballot.reason.split())[:MAX_REASON]
    # Punctuation, or letters that print as nothing, say nothing either.
    empty = not any(each.isalnum() and not has_invisible(each) for each in reason)
    if empty and (ballot.verdict == REJECT or request.effective_mode == "destructive"):
        raise coded_error("approval.reason_missing")
    return reason


def _required_factor(
    approver: User, terms: GateTerms, request: ApprovalRequest, ballot: Ballot
) -> str | None:
    """A fresh code, good once, given in the very act: it can't serve another request."""
    if ballot.verdict != APPROVE or not terms.needs_factor(request.effective_mode):
        return ""
    code = "".join((ballot.code or "").split())
    if not code:
        raise coded_error("otp.required")
    factor = verify_code(user=approver, code=code) if code.isdigit() else None
    return factor.kind if factor else None


# --- counting ------------------------------------------------------------------------------------
def _entered(
    request: ApprovalRequest,
    approver: User,
    ballot: Ballot,
    reason: str,
    factor: str,
    now: datetime,
) -> Vote:
    try:
        with transaction.atomic():
            return Vote.objects.create(
                vote_id=new_id("vote"),
                request=request,
                approver=approver,
                on_behalf_of=ballot.on_behalf_of,
                verdict=ballot.verdict,
                stage=request.stage,
                reason=reason,
                factor=factor,
                digest=request.digest,
                seconds_seen=ballot.seconds_seen,
                created_at=now,
            )
    except IntegrityError as clash:
        raise coded_error("approval.already_voted") from clash


def _standing(request: ApprovalRequest, terms: GateTerms) -> tuple[int, int, int]:
    votes = Vote.objects.filter(request=request, withdrawn_at__isnull=True)
    return tally(terms, list(votes.values_list("verdict", "stage")))


def _count(request: ApprovalRequest, terms: GateTerms, approver: User, now: datetime) -> None:
    stage, _, rejections = _standing(request, terms)
    actor = person(approver, request.tenant_id)
    if rejections >= terms.deny_threshold:
        move(request, RequestState.REJECTED, decided_at=now)
        tell(request, "rejected", actor)
        wake_subject(request.pk)
    elif stage >= len(terms.stages):
        move(request, RequestState.APPROVED, stage=stage, decided_at=now)
        tell(request, "approved", actor)
        wake_subject(request.pk)
    elif stage != request.stage:
        ApprovalRequest.objects.filter(pk=request.pk).update(stage=stage)
        request.stage = stage


def _facts(vote: Vote, giver: User | None) -> dict[str, object]:
    return {
        "vote_id": vote.pk,
        "verdict": vote.verdict,
        "stage": vote.stage,
        "factor": vote.factor or None,
        "on_behalf_of": giver.user_id if giver else None,
        "digest": vote.digest,
        "seconds_seen": vote.seconds_seen,
    }


def _record_attempt(
    tenant_id: str, approval_id: str, approver: User, ballot: Ballot, refused: ContextOSError
) -> None:
    request = ApprovalRequest.objects.filter(pk=approval_id, tenant_id=tenant_id).first()
    if request is not None:
        facts = {"verdict": ballot.verdict, "code": refused.code}
        tell(request, "vote_refused", person(approver, tenant_id), data=facts)
