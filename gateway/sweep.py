"""Finds what nobody works on: due calls, leases that ran out, tasks past their time (C12)."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from approvals.services.requests import escalate_due, expire_due
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway.attempts import from_row
from gateway.dispatch import dispatch, has_broker
from gateway.ending import Ending, finish, requeue
from gateway.execution import judged_fault
from gateway.leases import due_calls, lost_calls
from gateway.models import ToolCall
from gateway.refusals import close_windows
from gateway.resume import close_missed, recheck_open
from gateway.states import CallState

log = structlog.get_logger(__name__)
AT_ONCE = 200
MOST_LOSSES = 3
# A message to the broker gets this long before the call is sent again.
RESEND_AFTER = timedelta(seconds=10)


def sweep_calls() -> None:
    """One round; safe in any number of processes at once."""
    now = utcnow()
    expire_due(now)
    escalate_due(now)
    recheck_open()
    close_missed()
    recover_lost(now)
    expire_unanswered(now)
    send_due(now)
    close_windows(now)


def recover_lost(now: datetime) -> int:
    """Decide what becomes of attempts whose worker died; how many were decided."""
    calls = list(lost_calls(now).select_related("run")[:AT_ONCE])
    return sum(_settled(call) for call in calls)


def _settled(call: ToolCall) -> bool:
    """Run again what can't do harm twice; the rest of the writes wait for a person."""
    attempt = from_row(call)
    log.warning("lease ran out", tool_call_id=call.pk, attempts=call.attempts, worker=call.worker)
    try:
        if attempt.may_run_again and call.losses < MOST_LOSSES:
            requeue(attempt, pause=timedelta(0), lost=True)
        else:
            fault = coded_error("call.worker_lost")
            finish(attempt, judged_fault(attempt, fault), Ending(dead_letter=not call.is_write))
    except ContextOSError as taken:
        if taken.code != "call.lost_lease":
            raise
        return False
    return True


def expire_unanswered(now: datetime) -> int:
    """Work that waits for an answer nobody gave in time goes back to a worker, which ends it."""
    rows = ToolCall.objects.filter(state=CallState.INPUT_REQUIRED, ends_at__lte=now)
    return rows.update(state=CallState.WORKING, due_at=now)


def send_due(now: datetime) -> int:
    """Hand due calls to the workers; how many. The embedded worker looks for itself."""
    if not has_broker():
        return 0
    due = list(due_calls(now).values_list("tool_call_id", "due_at")[:AT_ONCE])
    sent = 0
    for tool_call_id, due_at in due:
        rows = ToolCall.objects.filter(pk=tool_call_id, due_at=due_at)
        if rows.update(due_at=now + RESEND_AFTER):
            dispatch(tool_call_id)
            sent += 1
    return sent
