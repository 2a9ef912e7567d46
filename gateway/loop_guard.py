"""Refuses a call that keeps failing: the same capability, the same arguments, the same run."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta

from django.conf import settings

from contextos.core.canonical import canonicalise
from contextos.core.errors import coded_error
from gateway.context import CallContext
from gateway.idempotency import MEMBER
from gateway.models import ToolCall
from gateway.states import CALLS, CallState


def args_digest(context: CallContext) -> str:
    """Names the arguments within the run; keyed, so that nobody can guess them from it.

    A new idempotency key does not make a new request: the same call in a loop is still one.
    """
    if context.run is None:
        raise LookupError("the run is not loaded yet")
    asked = {name: value for name, value in context.args.items() if name != MEMBER}
    keyed = hmac.new(bytes(context.run.salt), canonicalise(asked), hashlib.sha256)
    return "sha256:" + keyed.hexdigest()


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
    ).order_by("-tool_call_id")[:limit]
    ends = [(call.state, call.finished_at) for call in last]
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
