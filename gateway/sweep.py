"""Finds what nobody works on: due calls, leases that ran out, tasks past their time (C12)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from approvals.services.requests import escalate_due, expire_due, reminders_due
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway.attempts import ending_from_row
from gateway.consents.resuming import sweep_consents
from gateway.dispatch import RESEND_AFTER, dispatch, has_broker
from gateway.ending import Ending, finish, held, requeue
from gateway.execution import judged_fault
from gateway.leases import PUT_ASIDE, due_calls, lost_calls
from gateway.models import ToolCall
from gateway.refusals import close_windows
from gateway.resume import close_missed, recheck_open
from gateway.states import CallState
from gateway.waiting_work import take_up_again

log = structlog.get_logger(__name__)
AT_ONCE = 200
MOST_LOSSES = 3
LONGEST_RESEND = timedelta(minutes=1)


def sweep_calls() -> None:
    """One round; safe in any number of processes at once. A chore that fails keeps no other."""
    now = utcnow()
    chores: tuple[Callable[[], object], ...] = (
        lambda: expire_due(now),
        lambda: escalate_due(now),
        lambda: reminders_due(now),
        recheck_open,
        close_missed,
        lambda: sweep_consents(now),
        lambda: recover_lost(now),
        lambda: expire_unanswered(now),
        lambda: send_due(now),
        lambda: close_windows(now),
    )
    for chore in chores:
        try:
            chore()
        except Exception:
            log.exception("a chore of the sweep failed")


def recover_lost(now: datetime) -> int:
    """Decide what becomes of attempts whose worker died; how many were decided."""
    calls = list(lost_calls(now).select_related("run")[:AT_ONCE])
    return sum(_settled_by_itself(call) for call in calls)


def _settled_by_itself(call: ToolCall) -> bool:
    """A call that can't be decided, say because its manifest is not trusted, keeps no other."""
    try:
        return _settled(call)
    except Exception:
        log.exception("a lost call could not be decided", tool_call_id=call.pk)
        ToolCall.objects.filter(**held(call)).update(lease_until=utcnow() + PUT_ASIDE)
        return False


def _settled(call: ToolCall) -> bool:
    """Run again what can't do harm twice; the rest of the writes wait for a person."""
    attempt = ending_from_row(call)
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
    calls = ToolCall.objects.filter(state=CallState.INPUT_REQUIRED, ends_at__lte=now)
    return sum(take_up_again(call) for call in calls.order_by("ends_at")[:AT_ONCE])


def send_due(now: datetime) -> int:
    """Hand due calls to the workers; how many. The embedded worker looks for itself."""
    if not has_broker():
        return 0
    due = list(due_calls(now).only("state", "created_at")[:AT_ONCE])
    for pause in {resend_pause(call, now) for call in due}:
        alike = [call.pk for call in due if resend_pause(call, now) == pause]
        ToolCall.objects.filter(pk__in=alike, due_at__lte=now).update(due_at=now + pause)
    for call in due:
        dispatch(call.pk)
    return len(due)


def resend_pause(call: ToolCall, now: datetime) -> timedelta:
    """How long a message may take before the call is sent again.

    A call that has waited long stands in a long queue: its message is probably there too, and many
    more of them would only make the queue longer.
    """
    long_queued = call.state == CallState.QUEUED and now - call.created_at > 3 * RESEND_AFTER
    return LONGEST_RESEND if long_queued else RESEND_AFTER
