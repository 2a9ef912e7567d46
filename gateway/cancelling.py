"""Cancelling a call: at once while it waits, by asking the far side once it has begun (C14)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from django.db import transaction

from approvals.selectors import request_of
from approvals.services.requests import cancel
from approvals.states import RequestState
from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor
from gateway.attempts import Attempt, ending_from_row
from gateway.budgets import waited_by
from gateway.dispatch import dispatch
from gateway.ending import Ending, finish
from gateway.execution import judged_waiting
from gateway.gating import SUBJECT_KIND
from gateway.models import ToolCall
from gateway.resume import as_recorded
from gateway.states import CALLS, CallState
from gateway.waiting_work import take_up_again

MAX_REASON = 500
_NOT_BEGUN = (CallState.PAUSED, CallState.QUEUED)
_BEGUN = (CallState.WORKING, CallState.INPUT_REQUIRED)


@transaction.atomic
def cancel_call(*, tenant_id: str, tool_call_id: str, reason: str, actor: Actor) -> ToolCall:
    """Cancel what can still be cancelled; a call that is cancelled already stays so."""
    stated = reason.strip()[:MAX_REASON]
    if not stated:
        raise coded_error("call.reason_missing")
    call = ToolCall.objects.select_related("run").get(pk=tool_call_id, tenant_id=tenant_id)
    if call.state == CallState.CANCELLED:
        return call
    attempt = ending_from_row(call)
    _refuse_if_too_late(attempt)
    call.cancel_reason = stated
    if call.state in _NOT_BEGUN:
        _end(_called_off(attempt, stated, actor))
    else:
        _ask(call)
    record_event(
        tenant_id=tenant_id,
        action="call.cancel_asked",
        actor=actor,
        subject_kind="tool_call",
        subject_id=tool_call_id,
        data={"reason": stated, "decision_id": call.decision_id},
        trace_id=attempt.facts.trace_id,
    )
    call.refresh_from_db()
    return call


def _refuse_if_too_late(attempt: Attempt) -> None:
    call, execution = attempt.call, attempt.declaration.get("execution") or {}
    if CALLS.is_terminal(call.state) or call.state == CallState.UNKNOWN_OUTCOME:
        raise coded_error("call.already_ended", data={"state": str(call.state)})
    if call.state in _NOT_BEGUN:
        return
    if not execution.get("cancellable"):
        raise coded_error("call.not_cancellable")


def _called_off(attempt: Attempt, reason: str, actor: Actor) -> Attempt:
    """People need not decide any more what nobody wants; the record says that they were asked."""
    call = attempt.call
    asked = request_of(SUBJECT_KIND, call.pk)
    if asked is None:
        return attempt
    ended = cancel(tenant_id=call.tenant_id, approval_id=asked.pk, reason=reason, actor=actor)
    if ended.state != RequestState.CANCELLED:
        return attempt  # used up: the record holds the yes already
    return replace(attempt, facts=replace(attempt.facts, approvals=[as_recorded(ended)]))


def _end(attempt: Attempt) -> None:
    """Not under way: nobody has to be asked. Between two attempts the first may have happened."""
    outcome = judged_waiting(attempt, coded_error("call.cancelled"))
    waited = waited_by(attempt.call, utcnow()) // timedelta(milliseconds=1)
    try:
        finish(attempt, outcome, Ending(keeps_transcript=False, waited_ms=waited))
    except ContextOSError as moved:
        if moved.code != "call.lost_lease":
            raise
        raise coded_error("call.just_moved") from moved


def _ask(call: ToolCall) -> None:
    """Leave the wish on the row: the attempt under way looks for it, a poll passes it on."""
    if call.state in _BEGUN:
        asked = take_up_again(call, cancel_reason=call.cancel_reason)
    else:
        rows = ToolCall.objects.filter(pk=call.pk, state=call.state)
        asked = bool(rows.update(cancel_reason=call.cancel_reason))
    if not asked:
        raise coded_error("call.just_moved")
    transaction.on_commit(lambda: dispatch(call.pk))
