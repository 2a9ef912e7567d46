"""Long-running work: a row that is asked after when it is due; nobody sleeps for it (C14)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from audit.decision_record import DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Json, Update, write_together
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.ids import new_id
from gateway.attempts import Attempt
from gateway.budgets import waited_by
from gateway.connectors.base import Reply, ReplyKind
from gateway.ending import held, move, next_row
from gateway.models import Run, ToolCall
from gateway.states import CallState

DEFAULT_POLL = timedelta(seconds=2)
LONGEST_POLL = timedelta(seconds=60)
DEFAULT_TTL = timedelta(hours=1)
LONGEST_TTL = timedelta(days=7)


def is_task(attempt: Attempt) -> bool:
    """Whether the manifest declares this capability as long-running."""
    return _execution(attempt).get("mode") == "task"


def begin_waiting(attempt: Attempt, reply: Reply) -> None:
    """The tool has begun: give the task an id of ours and an end, and record that it waits."""
    moment = utcnow()
    task = {**_handle(attempt, reply), "task_id": new_id("task")}
    values = {"task": Json(task), "ends_at": moment + _ttl(attempt)}
    _wait(attempt, reply, values)


def keep_waiting(attempt: Attempt, reply: Reply) -> None:
    """After a poll: not finished. Only a wish for input is worth a record."""
    call = attempt.call
    task = {**_handle(attempt, reply), "task_id": (call.task or {})["task_id"]}
    values = {"task": Json(task), "answer_payload": ""}
    if reply.kind is ReplyKind.INPUT_REQUIRED:
        _wait(attempt, reply, values)
        return
    again = Update(
        name="call",
        table=ToolCall._meta.db_table,
        values={**values, "lease_until": None, "due_at": utcnow() + poll_pause(attempt, reply)},
        where=held(call),
    )
    if "call" not in write_together(again):
        raise coded_error("call.lost_lease")


def try_poll_later(attempt: Attempt, **also: Any) -> None:
    """The poll itself failed: the work may go on all the same, so ask again, less often."""
    rows = ToolCall.objects.filter(**held(attempt.call))
    rows.update(lease_until=None, due_at=utcnow() + poll_pause(attempt, None), **also)


@transaction.atomic
def take_up_again(call: ToolCall, **also: Any) -> bool:
    """Give it to a worker at once, whether or not people were waited for; what they took is given
    back to the run. False when it has moved on meanwhile."""
    now = utcnow()
    rows = ToolCall.objects.filter(pk=call.pk, state=call.state)
    if not rows.update(state=CallState.WORKING, due_at=now, **also):
        return False
    waited = waited_by(call, now) // timedelta(milliseconds=1)
    Run.objects.filter(pk=call.run_id).update(waited_ms=F("waited_ms") + waited)
    return True


def poll_pause(attempt: Attempt, reply: Reply | None) -> timedelta:
    """As the tool or the manifest asks, and longer the longer it takes."""
    asked = (reply.task or {}).get("poll_after_ms") if reply else None
    declared = _execution(attempt).get("poll_interval_seconds")
    pause = DEFAULT_POLL
    if isinstance(declared, int | float) and declared > 0:
        pause = timedelta(seconds=declared)
    if isinstance(asked, int) and asked > 0:
        pause = timedelta(milliseconds=min(asked, LONGEST_POLL // timedelta(milliseconds=1)))
    return min(LONGEST_POLL, pause * (1 + attempt.call.polls // 10))


def _wait(attempt: Attempt, reply: Reply, values: dict[str, Any]) -> None:
    """Move to working or input_required, with a DEFERRED or ESCALATED row."""
    if reply.kind is ReplyKind.INPUT_REQUIRED:
        state, status = CallState.INPUT_REQUIRED, DecisionStatus.ESCALATED
        asked = {**(reply.input_request or {}), "asked_at": format_time(utcnow())}
        values |= {"input_request": Json(asked)}
    else:
        state, status = CallState.WORKING, DecisionStatus.DEFERRED
        values |= {"due_at": utcnow() + poll_pause(attempt, reply)}
    facts = next_row(attempt, status)
    done = write_together(
        move(attempt.call, state, facts, values), *prepare_decision(facts, after="call").writes
    )
    if "call" not in done:
        raise coded_error("call.lost_lease")


def _handle(attempt: Attempt, reply: Reply) -> dict[str, Any]:
    task = dict(reply.task or {})
    pause = poll_pause(attempt, reply)
    return {
        "handle": task.get("handle"),
        "poll_after_ms": int(pause.total_seconds() * 1000),
    }


def _ttl(attempt: Attempt) -> timedelta:
    seconds = _execution(attempt).get("ttl_seconds")
    if isinstance(seconds, int | float) and seconds > 0:
        return min(LONGEST_TTL, timedelta(seconds=seconds))
    return DEFAULT_TTL


def _execution(attempt: Attempt) -> dict[str, Any]:
    return dict(attempt.declaration.get("execution") or {})
