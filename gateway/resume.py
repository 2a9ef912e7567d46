"""After people decided: check again on today's state, consume once, go on; or close the call."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.db.models import Q, QuerySet

from approvals.models import ApprovalRequest, Vote
from approvals.selectors import OpenGate, gate_in_force, request_of
from approvals.services.requests import consumption, mark_closed, void
from approvals.states import OPEN, RequestState
from audit.decision_record import DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Update, write_together
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway.attempts import Attempt, ending_from_row, from_row
from gateway.deciding_again import decided_now
from gateway.dispatch import dispatch
from gateway.ending import Ending, finish, held, next_row
from gateway.gating import SUBJECT_KIND, approval_digest, mark_of
from gateway.models import Run, ToolCall
from gateway.normalise import normalise_refused
from gateway.parties import require_parties
from gateway.runs import compiled_run
from gateway.states import CallState
from registry.compiled import PermittedCapability
from registry.policy import PolicyDecision
from registry.selectors import generation_of, is_published

log = structlog.get_logger(__name__)
AT_ONCE = 200
RECHECK_SECONDS = 2.0  # of one round
_CLOSING = {
    RequestState.REJECTED: ("approval.rejected", DecisionStatus.REJECTED),
    RequestState.EXPIRED: ("approval.expired", DecisionStatus.EXPIRED),
    RequestState.VOIDED: ("approval.voided", DecisionStatus.REJECTED),
}


def approval_decided(approval_id: str) -> None:
    """Act on a request that left the pending state; doing it twice changes nothing."""
    request = ApprovalRequest.objects.filter(pk=approval_id, subject_kind=SUBJECT_KIND).first()
    if request is None or request.closed_at is not None:
        return
    if request.state == RequestState.APPROVED:
        _resume(request)
    elif request.state in _CLOSING:
        _close(request)
    elif request.state == RequestState.CANCELLED:
        mark_closed(approval_id)


# --- yes -----------------------------------------------------------------------------------------
def _resume(request: ApprovalRequest) -> None:
    """Resolve, validate and decide again; the same digest is needed, and used up once."""
    call = _call(request)
    why = _changed(request, call)
    if why is not None:
        void(tenant_id=request.tenant_id, approval_id=request.pk, reason=why)
        return
    attempt = from_row(call)
    facts = next_row(attempt, DecisionStatus.APPROVED, approvals=[as_recorded(request)])
    started = Update(
        name="call",
        table=ToolCall._meta.db_table,
        values={"state": CallState.QUEUED.value, "due_at": utcnow(), "records": facts.seq},
        where=held(call),
        after="approval",
    )
    waited = Update(
        name="run",
        table=Run._meta.db_table,
        values={},
        add={"waited_ms": _waited_ms(call)},
        where={"run_id": call.run_id},
        after="call",
    )
    done = write_together(
        consumption(request), started, *prepare_decision(facts, after="call").writes, waited
    )
    if "call" in done:
        dispatch(call.pk)


def _waited_ms(call: ToolCall) -> int:
    return max(0, int((utcnow() - call.created_at).total_seconds() * 1000))


# --- no ------------------------------------------------------------------------------------------
def _close(request: ApprovalRequest) -> None:
    """The call ends as refused, with the votes in its record."""
    call = _call(request)
    code, status = _CLOSING[RequestState(request.state)]
    if call.state == CallState.PAUSED:
        attempt = ending_from_row(call)
        facts = replace(attempt.facts, approvals=[as_recorded(request)])
        fault = coded_error(code, message=_said(request), data={"approval_id": request.pk})
        ending = Ending(keeps_transcript=False, waited_ms=_waited_ms(call), status=status)
        try:
            finish(replace(attempt, facts=facts), normalise_refused(fault), ending)
        except ContextOSError as taken:
            if taken.code != "call.lost_lease":
                raise
            return
    mark_closed(request.pk)


def _said(request: ApprovalRequest) -> str | None:
    """Why, in the words of who said no; a person's reason is quoted, an agent never wrote it."""
    if request.state == RequestState.VOIDED:
        return f"What was to be approved has changed: {request.void_reason}"
    if request.state == RequestState.REJECTED:
        reasons = Vote.objects.filter(
            request=request, verdict="reject", withdrawn_at__isnull=True
        ).values_list("reason", flat=True)
        return f"Rejected: {'; '.join(reasons)}"[:500]
    return None


def as_recorded(request: ApprovalRequest) -> dict[str, Any]:
    """The `approvals` member of a record: what people were asked, and the votes that stand."""
    votes = Vote.objects.filter(request=request, withdrawn_at__isnull=True)
    people = votes.select_related("approver", "on_behalf_of")
    return {
        "approval_id": request.pk,
        "gate": request.gate_id,
        "gate_version": request.gate_version,
        "digest": request.digest,
        "state": str(request.state),
        "votes": [
            {
                "approver": vote.approver.user_id,
                "verdict": vote.verdict,
                "reason": vote.reason,
                "factor": vote.factor or None,
                "on_behalf_of": vote.on_behalf_of.user_id if vote.on_behalf_of else None,
                "digest": vote.digest,
                "at": format_time(vote.created_at),
            }
            for vote in people
        ],
    }


def _call(request: ApprovalRequest) -> ToolCall:
    return ToolCall.objects.select_related("run").get(pk=request.subject_id)


# --- is it still the same? -----------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Today:
    """What the same call would meet now."""

    permitted: PermittedCapability
    decision: PolicyDecision
    gate: OpenGate


def _changed(request: ApprovalRequest, call: ToolCall) -> str | None:
    """Why a yes would not cover what would run now; None when nothing has changed."""
    try:
        attempt = from_row(call)
        today = _today(attempt)
    except ContextOSError as refused:
        return refused.message
    if not is_published(today.permitted.capability.version_id):
        return "A newer version of the adapter's manifest has been published."
    if today.gate.version_id != request.gate_version_id:
        return "The gate has been changed."
    now = approval_digest(
        tenant_id=request.tenant_id,
        capability=today.permitted.capability,
        args_commitment=attempt.facts.args_commitment or "",
        decision=today.decision,
        chain=attempt.facts.principal_chain,
        gate=today.gate,
    )
    return None if now == request.digest else "Policy says something else about it now."


def why_not_now(call: ToolCall) -> str | None:
    """Why a call that was let through and then had to wait may not go on; None when it may."""
    request = request_of(SUBJECT_KIND, call.pk)
    return _changed(request, call) if request is not None else _changed_ungated(call)


def _changed_ungated(call: ToolCall) -> str | None:
    """The same for a call that no gate was asked for: policy says today what it said then."""
    try:
        require_parties(call)
        compiled = compiled_run(call.run)
        permitted = compiled.resolve(call.capability_id)
        decision = decided_now(from_row(call), compiled, permitted)
    except ContextOSError as refused:
        return refused.message
    if not decision.allowed:
        return decision.reason.partition(": ")[2]
    mode = decision.effective_approval_mode or permitted.capability.approval_mode
    if decision.requires_approval_gate or mode.value != call.mode_effective:
        return "Policy says something else about it now."
    return None


def _today(attempt: Attempt) -> _Today:
    call = attempt.call
    require_parties(call)
    compiled = compiled_run(call.run)
    permitted = compiled.resolve(call.capability_id)
    decision = decided_now(attempt, compiled, permitted)
    if not decision.allowed:
        raise coded_error("approval.voided", message=decision.reason.partition(": ")[2])
    named = decision.requires_approval_gate
    gate = gate_in_force(tenant_id=call.tenant_id, gate_id=named) if named else None
    if gate is None:
        raise coded_error("approval.voided", message="The gate is not in force any more.")
    return _Today(permitted, decision, gate)


# --- the sweep -----------------------------------------------------------------------------------
def recheck_open() -> int:
    """Void what a publication, policy or gate change has overtaken; how many were voided."""
    voided, until = 0, time.monotonic() + RECHECK_SECONDS
    rows = ApprovalRequest.objects.filter(subject_kind=SUBJECT_KIND, state__in=OPEN)
    for tenant_id in rows.order_by().values_list("tenant_id", flat=True).distinct():
        generation = generation_of(tenant_id)
        for gate_id in _gates(tenant_id):
            gate = gate_in_force(tenant_id=tenant_id, gate_id=gate_id)
            mark = mark_of(generation, gate) if gate else f"{generation}:none"
            stale = rows.filter(tenant_id=tenant_id, gate_id=gate_id).exclude(checked_mark=mark)
            voided += _rechecked_in_turn(stale, mark, until)
    return voided


def _rechecked_in_turn(stale: QuerySet[ApprovalRequest], mark: str, until: float) -> int:
    """In the order of the queue, so that what people look at first is told first; at least one,
    and as many as there is time for: the sweep has other chores, and comes again in a second."""
    voided = 0
    for request in stale.order_by("-risk", "created_at")[:AT_ONCE]:
        voided += _rechecked_alone(request, mark)
        if time.monotonic() >= until:
            break
    return voided


def _rechecked_alone(request: ApprovalRequest, mark: str) -> bool:
    """One request that can't be looked at keeps no other."""
    try:
        return _rechecked(request, mark)
    except Exception:
        log.exception("a request could not be checked again", approval_id=request.pk)
        return False


def _gates(tenant_id: str) -> list[str]:
    rows = ApprovalRequest.objects.filter(tenant_id=tenant_id, state__in=OPEN)
    return list(rows.order_by().values_list("gate_id", flat=True).distinct())


def _rechecked(request: ApprovalRequest, mark: str) -> bool:
    why = _changed(request, _call(request))
    if why is not None:
        # Its call is closed by the sweep's next chore: first everybody sees what is void.
        void(tenant_id=request.tenant_id, approval_id=request.pk, reason=why, wake=False)
        return True
    ApprovalRequest.objects.filter(pk=request.pk).update(checked_mark=mark)
    return False


def close_missed() -> int:
    """Act on decided requests whose callback never came; how many there were."""
    missed = ApprovalRequest.objects.filter(
        ~Q(state=RequestState.PENDING), subject_kind=SUBJECT_KIND, closed_at__isnull=True
    )
    names = list(missed.order_by("decided_at").values_list("approval_id", flat=True)[:AT_ONCE])
    for approval_id in names:
        try:
            approval_decided(approval_id)
        except Exception:
            log.exception("a decided request could not be acted on", approval_id=approval_id)
    return len(names)
