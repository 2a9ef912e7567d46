"""The ends of a request other than a vote: expired, cancelled, voided, consumed; reminders."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, IntegerField, Q, Value
from django.db.models.functions import Cast

from approvals.gates import read_terms
from approvals.models import ApprovalRequest
from approvals.states import OPEN, REQUESTS, RequestState
from approvals.wires import wake_subject
from audit.one_statement import Update
from audit.services import record_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor, automation

CLOCK = automation("approvals-clock")
LONGEST_PAUSE = timedelta(days=7)
AT_ONCE = 200


def locked(tenant_id: str, approval_id: str) -> ApprovalRequest:
    """The request, held until the end of the transaction."""
    rows = ApprovalRequest.objects.select_for_update()
    request = rows.filter(pk=approval_id, tenant_id=tenant_id).first()
    if request is None:
        raise coded_error("approval.unknown")
    return request


def move(request: ApprovalRequest, target: RequestState, **columns: Any) -> None:
    """Compare-and-set along the table of states."""
    REQUESTS.check(request.state, target)
    rows = ApprovalRequest.objects.filter(pk=request.pk, state=request.state)
    if rows.update(state=target, **columns) != 1:
        raise coded_error("approval.not_pending")
    request.state = target
    for name, value in columns.items():
        setattr(request, name, value)


def tell(
    request: ApprovalRequest,
    word: str,
    actor: Actor,
    *,
    reason: str = "",
    data: Mapping[str, Any] | None = None,
) -> None:
    """The event of a change, in the change's own transaction."""
    record_event(
        tenant_id=request.tenant_id,
        action=f"approval.{word}",
        actor=actor,
        subject_kind="approval",
        subject_id=request.pk,
        reason=reason,
        data={
            "gate": request.gate_id,
            "gate_version": request.gate_version,
            "digest": request.digest,
            "subject": request.subject_id,
            "asked_at": format_time(request.created_at),
            **(data or {}),
        },
        trace_id=request.view.get("trace_id"),
    )


@transaction.atomic
def cancel(*, tenant_id: str, approval_id: str, reason: str, actor: Actor) -> ApprovalRequest:
    """The subject was cancelled: nothing is left to decide."""
    return _end(locked(tenant_id, approval_id), RequestState.CANCELLED, "cancelled", reason, actor)


@transaction.atomic
def void(*, tenant_id: str, approval_id: str, reason: str, wake: bool = True) -> ApprovalRequest:
    """What was shown is not what would run any more.

    Without waking its subject, whoever voids many shows all of it first, and closes them then.
    """
    request = locked(tenant_id, approval_id)
    changed = {"void_reason": reason[:500]}
    return _end(request, RequestState.VOIDED, "voided", reason, CLOCK, wake=wake, **changed)


def consumption(request: ApprovalRequest, *, name: str = "approval") -> Update:
    """The compare-and-set that uses an approval up, for the write that starts its subject."""
    return Update(
        name=name,
        table=ApprovalRequest._meta.db_table,
        values={"state": RequestState.CONSUMED.value, "closed_at": utcnow()},
        # Of this very decision: votes may have been withdrawn and given again meanwhile.
        where={
            "approval_id": request.pk,
            "state": RequestState.APPROVED.value,
            "decided_at": request.decided_at,
        },
    )


def mark_closed(approval_id: str) -> None:
    """Its subject has been told how it ended."""
    ApprovalRequest.objects.filter(pk=approval_id, closed_at__isnull=True).update(
        closed_at=utcnow()
    )


def _end(
    request: ApprovalRequest,
    target: RequestState,
    word: str,
    reason: str,
    actor: Actor,
    *,
    wake: bool = True,
    **columns: Any,
) -> ApprovalRequest:
    if request.state not in OPEN:
        return request
    move(request, target, decided_at=utcnow(), **columns)
    tell(request, word, actor, reason=reason)
    if wake:
        wake_subject(request.pk)
    return request


# --- the clock -----------------------------------------------------------------------------------
def expire_due(now: datetime | None = None) -> int:
    """Close what nobody decided in time; an open question stops the clock, but not for ever."""
    moment = now or utcnow()
    # As `pause_left`; SQLite multiplies a time by nothing but a plain integer.
    spent = ExpressionWrapper(
        Cast("paused_ms", IntegerField()) * Value(timedelta(milliseconds=1)),
        output_field=DurationField(),
    )
    paused = Q(question_open=True, question_since__gt=Value(moment - LONGEST_PAUSE) + spent)
    due = ApprovalRequest.objects.filter(~paused, state__in=OPEN, expires_at__lte=moment)
    names = due.order_by("expires_at").values_list("approval_id", "tenant_id")[:AT_ONCE]
    return sum(_expired(approval_id, tenant_id, moment) for approval_id, tenant_id in names)


def is_overdue(request: ApprovalRequest, now: datetime) -> bool:
    """Whether the request's time is over, whoever has or has not swept it yet."""
    since = request.question_since
    paused = request.question_open and since is not None and now - since < pause_left(request)
    return now >= request.expires_at and not paused


def pause_left(request: ApprovalRequest) -> timedelta:
    """For how long questions may still stop its clock: all of them together have one limit."""
    return max(timedelta(0), LONGEST_PAUSE - timedelta(milliseconds=request.paused_ms))


@transaction.atomic
def _expired(approval_id: str, tenant_id: str, now: datetime) -> bool:
    request = locked(tenant_id, approval_id)
    if request.state not in OPEN or not is_overdue(request, now):
        return False
    _end(request, RequestState.EXPIRED, "expired", "", CLOCK)
    return True


def escalate_due(now: datetime | None = None) -> list[str]:
    """Bring in the next groups where nobody has decided; the requests that moved on."""
    moment = now or utcnow()
    due = ApprovalRequest.objects.filter(
        state=RequestState.PENDING, escalates_at__lte=moment, question_open=False
    )
    return [request.pk for request in due[:AT_ONCE] if _escalated(request)]


@transaction.atomic
def _escalated(request: ApprovalRequest) -> bool:
    terms = read_terms(request.terms)
    level = request.escalation + 1
    following = terms.escalations[level : level + 1]
    next_at = (
        request.created_at
        + timedelta(seconds=following[0].after_seconds, milliseconds=request.paused_ms)
        if following
        else None
    )
    rows = ApprovalRequest.objects.filter(
        pk=request.pk, state=RequestState.PENDING, escalation=request.escalation
    )
    if not rows.update(escalation=level, escalates_at=next_at):
        return False
    step = terms.escalations[request.escalation]
    tell(request, "escalated", CLOCK, data={"level": level, "groups": list(step.groups)})
    return True


def reminders_due(now: datetime | None = None) -> list[tuple[str, int]]:
    """(approval_id, number) of reminders whose time has come; each is taken by one process."""
    moment = now or utcnow()
    due = ApprovalRequest.objects.filter(
        state=RequestState.PENDING, reminds_at__lte=moment, question_open=False
    )
    return [(r.pk, r.reminders + 1) for r in due[:AT_ONCE] if _reminded(r)]


def _reminded(request: ApprovalRequest) -> bool:
    times = read_terms(request.terms).reminders_after_seconds
    number = request.reminders + 1
    following = times[number : number + 1]
    next_at = (
        request.created_at + timedelta(seconds=following[0], milliseconds=request.paused_ms)
        if following
        else None
    )
    rows = ApprovalRequest.objects.filter(
        pk=request.pk, state=RequestState.PENDING, reminders=request.reminders
    )
    return bool(rows.update(reminders=number, reminds_at=next_at))
