"""Answering a question of long-running work: checked against what was asked, kept, passed on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction

from audit.decision_record import DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Update, write_together
from audit.payloads import seal_payload
from contextos.core.clock import parse_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from gateway.attempts import Attempt, from_row
from gateway.cancelling import cancel_call
from gateway.dispatch import dispatch
from gateway.ending import move, next_row
from gateway.models import Run, ToolCall
from gateway.runs import compiled_run
from gateway.states import CallState
from registry.validation import compile_schema

CANCELLED_BY_ANSWER = "The question was answered with cancel."


@transaction.atomic
def give_input(*, call: ToolCall, action: str, content: Any, actor: Actor) -> ToolCall:
    """Take an answer: accept and decline go back to the tool, cancel ends the call."""
    if call.state != CallState.INPUT_REQUIRED:
        raise coded_error("input.not_awaited", data={"state": str(call.state)})
    if action == "cancel":
        return cancel_call(
            tenant_id=call.tenant_id,
            tool_call_id=call.pk,
            reason=CANCELLED_BY_ANSWER,
            actor=actor,
        )
    if action == "accept":
        compiled_run(call.run).resolve(call.capability_id)  # going on is an effect, too
        _check(call, content)
    answer = {"action": action, "content": content if action == "accept" else None}
    _resume(from_row(call), answer)
    transaction.on_commit(lambda: dispatch(call.pk))
    call.refresh_from_db()
    return call


def _check(call: ToolCall, content: Any) -> None:
    schema = (call.input_request or {}).get("schema") or {"type": "object"}
    problems = compile_schema(schema).errors(content, mask=True)
    if problems:
        listed = [{"pointer": p.pointer, "message": p.message} for p in problems[:10]]
        raise coded_error(
            "input.invalid",
            message=f"{problems[0].pointer or 'The content'}: {problems[0].message}",
            data={"problems": listed},
        )


def _resume(attempt: Attempt, answer: dict[str, Any]) -> None:
    call = attempt.call
    sealed = seal_payload(
        tenant_id=call.tenant_id,
        decision_id=call.decision_id,
        kind="answer",
        value=answer,
        after="call",
    )
    facts = next_row(attempt, DecisionStatus.DEFERRED)
    values = {"answer_payload": sealed.payload_id, "input_request": None, "due_at": utcnow()}
    done = write_together(
        move(call, CallState.WORKING, facts, values),
        *prepare_decision(facts, after="call").writes,
        sealed.write,
        _waited(call),
    )
    if "call" not in done:
        raise coded_error("input.not_awaited")


def _waited(call: ToolCall) -> Update:
    """The time people took is given back to the run."""
    asked_at = parse_time((call.input_request or {})["asked_at"])
    waited = max(timedelta(0), utcnow() - asked_at)
    return Update(
        name="run",
        table=Run._meta.db_table,
        values={},
        add={"waited_ms": int(waited.total_seconds() * 1000)},
        where={"run_id": call.run_id},
        after="call",
    )
