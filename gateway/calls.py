"""Proposing a call, and reading one: decide, look for a replay, claim and record, then act (C1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError

from approvals.opening import refuse_flood
from contextos import telemetry
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway import tracing
from gateway.accepting import Accepted, accept
from gateway.answers import Answer, refusal, stored
from gateway.attempts import from_context
from gateway.breaker import admit
from gateway.budgets import check_budget, reserve_cents
from gateway.bulkhead import place_for
from gateway.context import CallContext, CallRequest
from gateway.dispatch import dispatch
from gateway.execution import attempt_inline
from gateway.fallbacks import other_way
from gateway.identity import Caller
from gateway.loop_guard import check_loop
from gateway.models import ToolCall
from gateway.patience import wait_for_end
from gateway.pipeline import RefusedCall, run_steps
from gateway.rates import check_rate
from gateway.refusals import refuse
from gateway.remembering import Standing, meet
from gateway.replays import replay
from gateway.standing import pair_of, result_of
from gateway.states import CallState


def open_context(
    *, caller: Caller, request: CallRequest, trace_id: str, rate_is_taken: bool = False
) -> CallContext:
    """The context a call starts with."""
    now = utcnow()
    return CallContext(
        caller=caller, request=request, now=now, trace_id=trace_id, rate_is_taken=rate_is_taken
    )


def propose(context: CallContext, *, wait_seconds: float = 0) -> Answer:
    """One call from its body to its answer; every way out leaves a record."""
    if not telemetry.is_on():
        return _proposed(context, wait_seconds)
    with tracing.proposal(context) as span:
        return tracing.answered(span, _proposed(context, wait_seconds))


@dataclass(frozen=True, slots=True)
class Anew:
    """Nothing was written: everything is to be asked anew, but for a place in the rate."""

    rate_is_taken: bool


def propose_on(standing: Standing, request: CallRequest) -> Answer | Anew:
    """A quick read decided on what was true a moment ago, if that still holds when it is claimed;
    where it does not, or leads to anything but a yes, it is for `propose` to decide."""
    context = CallContext(
        caller=standing.caller,
        request=request,
        now=utcnow(),
        trace_id=standing.run.trace_id,
        run=standing.run,
        still=standing.still,
    )
    within_limits = claimed = False
    try:
        context = run_steps(context)
        if context.key is not None or not context.is_quick or reserve_cents(context):
            return Anew(rate_is_taken=False)  # a key may be used up; money is the run's own count
        context = _within_limits(context)
        within_limits = True
        if context.still is None:
            return Anew(rate_is_taken=True)  # another way was found, on what was asked just now
        with place_for(context):
            accepted = accept(context)
            claimed = accepted is not None
            return _executed(context, accepted) if accepted else Anew(rate_is_taken=True)
    except RefusedCall:
        return Anew(rate_is_taken=False)
    except ContextOSError as error:
        return refuse(context, error) if claimed else Anew(rate_is_taken=within_limits)
    except DatabaseError:  # the claim may have been written all the same: it is not made again
        return refusal(context, coded_error("record.unavailable"), decision_id=None)


def _proposed(context: CallContext, wait_seconds: float) -> Answer:
    try:
        context = run_steps(context)
        with tracing.step("replay", context):
            answer = replay(context)
        answer = answer or _accepted(context)
    except RefusedCall as refused:
        return refuse(refused.context, refused.error)
    except ContextOSError as error:
        return refuse(context, error)
    except DatabaseError:
        return refusal(context, coded_error("record.unavailable"), decision_id=None)
    return _patiently(answer, wait_seconds)


def _accepted(context: CallContext) -> Answer:
    try:
        with tracing.step("limits", context):
            context = _within_limits(context)
    except ContextOSError:
        # The key may have been claimed since we looked: a recorded answer passes every limit.
        found = replay(context)
        if found is None:
            raise
        return found
    with place_for(context):
        return _claimed(context)


def _within_limits(context: CallContext) -> CallContext:
    check_loop(context)
    check_budget(context)
    check_rate(context)
    try:
        admit(context)
    except ContextOSError:
        routed = other_way(context)
        if routed is None:
            raise
        context = routed
    if context.gate is not None:
        refuse_flood(context.caller.tenant_id, context.caller.agent.id)
    return context


def _claimed(context: CallContext) -> Answer:
    with tracing.step("claim", context):
        accepted = accept(context)
    if accepted is None:
        # Somebody else claimed the key a moment earlier: theirs is the answer.
        found = replay(context)
        if found is None:
            raise coded_error("idempotency.in_flight")
        return found
    if context.is_quick:
        if context.run is not None:
            meet(context.caller, context.run)
        return _executed(context, accepted)
    return _waiting(accepted)


def _executed(context: CallContext, accepted: Accepted) -> Answer:
    try:
        return stored(attempt_inline(from_context(context, accepted)), replayed=False)
    except ContextOSError as taken:
        if taken.code != "call.lost_lease":
            raise
        # The sweep took it for abandoned: what became of it stands in its row, and is no refusal.
        return stored(result_of(ToolCall.objects.get(pk=accepted.call.pk)), replayed=False)


def _waiting(accepted: Accepted) -> Answer:
    """For a worker, who is told, or for people, who find it in their queue."""
    if accepted.call.state == CallState.QUEUED:
        dispatch(accepted.call.tool_call_id)
    return stored(result_of(accepted.call), replayed=False)


def _patiently(answer: Answer, seconds: float) -> Answer:
    """Wait for the end where the caller prefers that and this process has a place to wait in."""
    tool_call_id = answer.body["tool_call_id"]
    if answer.http_status != 202 or tool_call_id is None or seconds <= 0:
        return answer
    call = wait_for_end(tool_call_id, seconds=seconds)
    return stored(result_of(call), replayed=False) if call else answer


def read_call(*, caller: Caller, tool_call_id: str, wait_seconds: float = 0) -> dict[str, Any]:
    """Both envelopes of a call of this very caller; anybody else's does not exist."""
    call = own_call(caller=caller, tool_call_id=tool_call_id)
    if wait_seconds > 0 and not call.result:
        call = wait_for_end(tool_call_id, seconds=wait_seconds) or call
    return pair_of(call)


def own_call(*, caller: Caller, tool_call_id: str) -> ToolCall:
    """A call of this very caller."""
    call = ToolCall.objects.filter(pk=tool_call_id, **caller.columns).first()
    if call is None:
        raise coded_error("call.unknown")
    return call
