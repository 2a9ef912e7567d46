"""Refuses a call that keeps failing: the same capability, the same arguments, the same run."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from contextos.core.errors import coded_error
from gateway.context import CallContext
from gateway.hashes import keyed_hash
from gateway.idempotency import without_key
from gateway.models import ToolCall
from gateway.states import CALLS, CallState


def args_digest(context: CallContext) -> str:
    """Names the arguments within the run; keyed, so that nobody can guess them from it.

    A new idempotency key does not make a new request: the same call in a loop is still one.
    """
    if context.run is None:
        raise LookupError("the run is not loaded yet")
    return keyed_hash(bytes(context.run.salt), without_key(context.args))


def check_loop(context: CallContext) -> None:
    """Refuse when the last few calls like this one all failed, and not long ago."""
    if not getattr(context.run, "has_failures", False):
        return  # read with the run itself, so that the usual call pays nothing
    limit, window = settings.LOOP_GUARD["failures"], settings.LOOP_GUARD["window_seconds"]
    last = ToolCall.objects.filter(
        run=context.run,
        capability_id=context.capability.capability_id,
        args_digest=args_digest(context),
        state__in=CALLS.terminal,
    ).order_by("-tool_call_id")
    ends = list(last.values_list("state", "finished_at")[:limit])
    if len(ends) < limit or any(state != CallState.FAILED for state, _ in ends):
        return
    oldest = min(moment for _, moment in ends if moment is not None)
    left = oldest + timedelta(seconds=window) - context.now
    if left > timedelta(0):
        raise coded_error(
            "loop.detected",
            message=f"The same call failed {limit} times in a row in this run.",
            retry_after_ms=int(left.total_seconds() * 1000),
        )
