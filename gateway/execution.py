"""Makes an attempt: invoke outside any transaction, judge what came back, then end or go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from contextos.core.clock import utcnow
from contextos.core.envelopes import ResultStatus
from contextos.core.errors import ContextOSError, coded_error
from gateway.attempts import Attempt
from gateway.breaker import note_outcome
from gateway.connectors import connector_for
from gateway.connectors.base import Connector, Reply, ReplyKind
from gateway.consents.waiting import begin_consent, paused_for_consent, waits_for_consent
from gateway.contact import with_contact
from gateway.credentials.error_codes import HARMLESS_CODES
from gateway.ending import Ending, finish, requeue
from gateway.models import ToolCall
from gateway.mutations import judged_changes, with_mutations
from gateway.normalise import (
    Normalised,
    normalise_cancelled,
    normalise_fault,
    normalise_output,
    normalise_refused,
    normalise_tool_error,
)
from gateway.outside import Answered, ask_outside
from gateway.redacting import without_hidden
from gateway.retrying import retry_pause
from gateway.tracing import attempt_span, traced
from gateway.waiting_work import begin_waiting, is_task
from registry.validation import Validator

# Faults after which nothing can have happened on the far side.
HARMLESS = HARMLESS_CODES | {
    "function.busy",
    "function.runner_failed",
    "function.unknown",
    "function.unsupported_action",
    "mcp.arguments_refused",
    "mcp.endpoint_missing",
    "mcp.forbidden",
    "mcp.rate_limited",
    "mcp.session_lost",
    "mcp.tasks_unavailable",
    "mcp.unknown_tool",
    "mcp.version_mismatch",
}
_WAITING = (ReplyKind.WORKING, ReplyKind.INPUT_REQUIRED)


def attempt_inline(attempt: Attempt) -> dict[str, Any]:
    """A quick call in the web thread; it is tried again only while its own time lasts."""
    started = time.monotonic()
    call, connector = attempt.call, connector_of(attempt)
    while True:
        attempt, reply = _asked(attempt, connector)
        if isinstance(reply, ContextOSError) and waits_for_consent(attempt, reply):
            return paused_for_consent(attempt, reply)
        outcome = _judged(attempt, reply)
        pause = retry_pause(attempt, outcome)
        if pause is None or not _has_time(call, pause):
            return finish(attempt, outcome, Ending(latency_ms=_milliseconds(started)))
        time.sleep(pause.total_seconds())
        call.attempts += 1


def attempt_in_worker(attempt: Attempt) -> None:
    """An attempt of a queued call: it ends, waits for the far side, or goes back to the queue."""
    started = time.monotonic()
    attempt, reply = _asked(attempt, connector_of(attempt))
    if isinstance(reply, ContextOSError) and waits_for_consent(attempt, reply):
        begin_consent(attempt, reply)
        return
    if isinstance(reply, Reply) and reply.kind in _WAITING and is_task(attempt):
        note_outcome(attempt.call.tenant_id, attempt.call.adapter_id, reply)
        begin_waiting(attempt, reply)
        return
    outcome = _judged(attempt, reply)
    pause = retry_pause(attempt, outcome)
    if pause is not None:
        requeue(attempt, pause=pause, doubt=_doubt(outcome))
        return
    spent = attempt.call.attempts > 1 and bool((outcome.error or {}).get("retryable"))
    finish(attempt, outcome, Ending(latency_ms=_milliseconds(started), dead_letter=spent))


def connector_of(attempt: Attempt) -> Connector:
    """The connector of the protocol that the call's manifest names."""
    return traced(connector_for(str(attempt.capability.manifest.get("protocol"))), attempt)


def judged_reply(attempt: Attempt, reply: Reply) -> Normalised:
    """What an answer of the tool amounts to."""
    if reply.kind is ReplyKind.TOOL_ERROR:
        return said_no(attempt, reply)
    if reply.kind is ReplyKind.CANCELLED:
        return normalise_cancelled(attempt.call.cancel_reason)
    if reply.kind is not ReplyKind.OUTPUT:
        # A capability declared as a plain call may not turn into long work behind our back.
        fault = coded_error("function.not_a_task", data={"state": reply.kind.value})
        return judged_fault(attempt, fault)
    outcome = answered(attempt, reply, attempt.capability.output_validator)
    return judged_changes(attempt, without_hidden(attempt, with_mutations(outcome, reply)))


def said_no(attempt: Attempt, reply: Reply) -> Normalised:
    """A refusal by the tool, in the light of what its manifest says of such errors."""
    declared = {item.get("code"): item for item in attempt.declaration.get("errors") or []}
    return normalise_tool_error(reply, declared=declared, attempts_left=attempts_left(attempt))


def answered(attempt: Attempt, reply: Reply, validator: Validator | None) -> Normalised:
    """An answer, in the light of what the manifest promises."""
    return normalise_output(
        reply,
        output_validator=validator,
        evidence_keys=tuple(attempt.declaration.get("evidence_keys") or ()),
        effect_possible=attempt.call.is_write,
    )


def attempts_left(attempt: Attempt) -> int:
    """How often it may be tried yet."""
    return attempt.max_attempts - attempt.call.attempts


def is_harmless(fault: ContextOSError) -> bool:
    """Whether nothing can have happened: by what the fault is, or since nothing had been sent."""
    return fault.code in HARMLESS or fault.data.get("request_sent") is False


def judged_fault(attempt: Attempt, fault: ContextOSError) -> Normalised:
    """What a failure of the way there amounts to; a write that may have happened is unknown."""
    possible = attempt.call.is_write and (not is_harmless(fault) or attempt.in_doubt)
    if fault.code == "call.cancelled" and not possible:
        return normalise_cancelled(attempt.call.cancel_reason)
    return normalise_fault(fault, effect_possible=possible, attempts_left=attempts_left(attempt))


def judged_waiting(attempt: Attempt, fault: ContextOSError) -> Normalised:
    """A call that ends while it waits for a worker; what an earlier attempt did stays unknown."""
    if attempt.in_doubt:
        return normalise_fault(fault, effect_possible=True, attempts_left=0)
    if fault.code == "call.cancelled":
        return normalise_cancelled(attempt.call.cancel_reason)
    return normalise_refused(fault)


def _doubt(outcome: Normalised) -> str:
    if outcome.status is not ResultStatus.UNKNOWN_OUTCOME:
        return ""
    return str((outcome.error or {}).get("code", "unknown"))


def _asked(attempt: Attempt, connector: Connector) -> Answered:
    call = attempt.invocation(should_stop=_cancel_watch(attempt))
    if attempt.capability.manifest.get("protocol") != "function":
        return with_contact(*ask_outside(attempt, connector, call))
    try:
        return attempt, connector.invoke(call)
    except ContextOSError as fault:
        return attempt, fault


def _cancel_watch(attempt: Attempt) -> Callable[[], bool] | None:
    """Looks for a wish to cancel, where the manifest says that the tool may be stopped."""
    if not (attempt.declaration.get("execution") or {}).get("cancellable"):
        return None

    def wanted() -> bool:
        reasons = ToolCall.objects.filter(pk=attempt.call.pk).values_list("cancel_reason")
        attempt.call.cancel_reason = (reasons.first() or ("",))[0]
        return bool(attempt.call.cancel_reason)

    return wanted


def _judged(attempt: Attempt, reply: Reply | ContextOSError) -> Normalised:
    note_outcome(attempt.call.tenant_id, attempt.call.adapter_id, reply)
    with attempt_span("normalise", attempt):
        if isinstance(reply, Reply):
            return judged_reply(attempt, reply)
        return judged_fault(attempt, reply)


def _has_time(call: ToolCall, pause: timedelta) -> bool:
    return call.deadline_at is not None and utcnow() + pause < call.deadline_at


def _milliseconds(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
