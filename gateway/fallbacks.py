"""Degraded routing: a read whose adapter rests is answered by the read its manifest names (C12)."""

from __future__ import annotations

from dataclasses import replace

from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from gateway.breaker import admit
from gateway.budgets import check_budget
from gateway.context import CallContext
from gateway.loop_guard import check_loop
from gateway.pipeline import RefusedCall, run_steps
from gateway.rates import check_rate


def other_way(context: CallContext) -> CallContext | None:
    """The same call to the declared fallback, where this caller may make that one too.

    It passes every step and limit of its own; a write is never routed elsewhere, and a fallback's
    own fallback is not followed.
    """
    named = context.declaration.get("fallback_capability")
    if not isinstance(named, str) or context.is_write:
        return None
    request = replace(context.request, capability_id=named, mode_requested=None)
    began = CallContext(
        caller=context.caller,
        request=request,
        now=context.now,
        trace_id=context.trace_id,
        routed_from=context.capability.capability_id,
    )
    try:
        routed = run_steps(began)
        if routed.is_quick and routed.capability.approval_mode is ApprovalMode.READ_ONLY:
            for check in (check_loop, check_budget, check_rate, admit):
                check(routed)
            return routed
    except (ContextOSError, RefusedCall):
        return None  # the first refusal is the one that explains
    return None
