"""What a worker does with a call it knows by id: take the lease, attempt or poll, end it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import structlog

from audit.payloads import open_payload
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway.attempts import Attempt, ending_from_row
from gateway.breaker import waiting_time
from gateway.connectors.base import Connector, Invocation, Reply, ReplyKind
from gateway.credentials.error_codes import HARMLESS_CODES
from gateway.deciding_again import require_policy_still_allows
from gateway.ending import Ending, finish, held
from gateway.execution import (
    HARMLESS,
    attempt_in_worker,
    connector_of,
    judged_fault,
    judged_reply,
    judged_waiting,
)
from gateway.leases import PUT_ASIDE, lease_to_execute, lease_to_poll
from gateway.models import ToolCall
from gateway.outside import asking
from gateway.parties import require_parties
from gateway.runs import compiled_run
from gateway.states import CallState
from gateway.waiting_work import keep_waiting, try_poll_later

log = structlog.get_logger(__name__)
_TAKEN_UP_FROM = (CallState.QUEUED, CallState.WORKING)
_STILL_WAITING = (ReplyKind.WORKING, ReplyKind.INPUT_REQUIRED)


def work_on(tool_call_id: str) -> bool:
    """Take a call one step further; False when there was nothing to do for this worker.

    A call that can't even be read (a key is missing, say) is put aside for a while.
    """
    try:
        return _work_on(tool_call_id)
    except Exception:
        waiting = ToolCall.objects.filter(pk=tool_call_id, state__in=_TAKEN_UP_FROM)
        waiting.update(due_at=utcnow() + PUT_ASIDE)
        raise


def _work_on(tool_call_id: str) -> bool:
    call = ToolCall.objects.select_related("run").filter(pk=tool_call_id).first()
    if call is None:
        return False
    try:
        if call.state == CallState.QUEUED:
            return _execute(call)
        return call.state == CallState.WORKING and _poll(call)
    except ContextOSError as fault:
        if fault.code != "call.lost_lease":
            raise
        # Somebody decided the call's fate after our lease ran out; theirs stands.
        log.warning("lease lost", tool_call_id=tool_call_id)
        return True


def _execute(call: ToolCall) -> bool:
    attempt = ending_from_row(call)
    refused = _refused_by_now(attempt)
    if refused is not None:
        finish(attempt, judged_waiting(attempt, refused), Ending(keeps_transcript=False))
        return True
    rest = waiting_time(call.tenant_id, call.adapter_id)
    if rest is not None:
        # Accepted is accepted: it waits for the breaker, and is no attempt until then.
        rows = ToolCall.objects.filter(pk=call.pk, state=CallState.QUEUED)
        return bool(rows.update(due_at=utcnow() + rest))
    if not lease_to_execute(call, seconds=attempt.capability.timeout_seconds):
        return False
    attempt_in_worker(attempt)
    return True


def _refused_by_now(attempt: Attempt) -> ContextOSError | None:
    """A wish to cancel that its last attempt did not meet any more, a kill switch, a revoked
    version, an agent switched off, a new rule bite what still waits."""
    if attempt.call.cancel_reason:
        return coded_error("call.cancelled")
    if attempt.gone is not None:
        return attempt.gone
    if attempt.in_doubt and not attempt.may_run_again:
        return coded_error("reconcile.not_deduplicated")
    try:
        require_parties(attempt.call)
        compiled = compiled_run(attempt.call.run)
        permitted = compiled.resolve(attempt.call.capability_id)
        require_policy_still_allows(attempt, compiled, permitted)
    except ContextOSError as fault:
        return fault
    return None


def _poll(call: ToolCall) -> bool:
    attempt = ending_from_row(call)
    if not lease_to_poll(call, seconds=attempt.capability.timeout_seconds):
        return False
    started, connector = time.monotonic(), connector_of(attempt)
    if call.cancel_reason:
        return _cancel(attempt, connector)
    if call.ends_at is not None and utcnow() >= call.ends_at:
        return _give_up(attempt, connector)
    try:
        reply = _ask(attempt, connector)
    except ContextOSError as fault:
        return _after_failed_poll(attempt, fault)
    if reply.kind in _STILL_WAITING:
        keep_waiting(attempt, reply)
        return True
    latency = int((utcnow() - call.created_at).total_seconds() * 1000)
    log.debug("work ended", tool_call_id=call.pk, polled_seconds=time.monotonic() - started)
    finish(attempt, judged_reply(attempt, reply), Ending(latency_ms=latency))
    return True


def _ask(attempt: Attempt, connector: Connector) -> Reply:
    call, handle = attempt.call, _handle(attempt.call)
    if not call.answer_payload:
        return asking(attempt, lambda made: connector.poll(made, handle))
    answer = open_payload(tenant_id=call.tenant_id, payload_id=call.answer_payload)

    def give(made: Invocation) -> Reply:
        # Given once at most: whether it arrived or not, the tool says by asking again.
        if not ToolCall.objects.filter(**held(call)).update(answer_payload=""):
            raise coded_error("call.lost_lease")
        return connector.give_input(made, handle, answer)

    return asking(attempt, give)


def _after_failed_poll(attempt: Attempt, fault: ContextOSError) -> bool:
    log.warning("poll failed", tool_call_id=attempt.call.pk, code=fault.code)
    if fault.code == "call.lost_lease":
        raise fault
    if fault.code == "function.busy" or fault.code in HARMLESS_CODES:
        # Nobody was asked, so that an answer still waits to be given.
        try_poll_later(attempt, answer_payload=attempt.call.answer_payload)
    elif fault.code in HARMLESS:
        # It can't be asked after at all, now or later.
        finish(attempt, judged_fault(attempt, coded_error("task.unreachable")), Ending())
    else:
        try_poll_later(attempt)
    return True


def _cancel(attempt: Attempt, connector: Connector) -> bool:
    call = attempt.call
    try:
        asking(attempt, lambda made: connector.cancel(made, _handle(call)))
    except ContextOSError as fault:
        log.warning("cancel failed", tool_call_id=call.pk, code=fault.code)
        try_poll_later(attempt)
        return True
    # Asked to stop, not known to have stopped in time: a write may have happened by then.
    finish(attempt, judged_fault(attempt, coded_error("call.cancelled")), Ending())
    return True


def _give_up(attempt: Attempt, connector: Connector) -> bool:
    """Past its time to live: asked to stop, and ended as far as we can know."""
    try:
        asking(attempt, lambda made: connector.cancel(made, _handle(attempt.call)))
    except ContextOSError as fault:
        log.warning("cancel failed", tool_call_id=attempt.call.pk, code=fault.code)
    finish(attempt, judged_fault(attempt, coded_error("task.expired")), Ending(dead_letter=True))
    return True


def _handle(call: ToolCall) -> Mapping[str, Any]:
    """By what the far side knows the work that goes on."""
    handle: Mapping[str, Any] = (call.task or {}).get("handle") or {}
    return handle
