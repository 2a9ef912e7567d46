"""The states of a governed call, as data; terminal states never change (C14)."""

from __future__ import annotations

from django.db import models

from contextos.core.states import TransitionTable


class CallState(models.TextChoices):
    """Where a call stands. The terminal names are the `status` of its result envelope."""

    PAUSED = "paused", "Waiting for a person"
    QUEUED = "queued", "Waiting for a worker"
    EXECUTING = "executing", "Executing"
    WORKING = "working", "Working upstream"
    INPUT_REQUIRED = "input_required", "Waiting for input"
    OK = "ok", "Done"
    FAILED = "failed", "Failed"
    REJECTED = "rejected", "Refused"
    CANCELLED = "cancelled", "Cancelled"
    UNKNOWN_OUTCOME = "unknown_outcome", "Outcome unknown"


_ENDS = (CallState.OK, CallState.FAILED, CallState.CANCELLED)

CALLS = TransitionTable(
    "call",
    initial=CallState.QUEUED,
    transitions={
        CallState.PAUSED: [CallState.QUEUED, CallState.REJECTED, CallState.CANCELLED],
        CallState.QUEUED: [
            CallState.EXECUTING,
            CallState.PAUSED,
            CallState.REJECTED,
            CallState.CANCELLED,
            CallState.FAILED,
            CallState.UNKNOWN_OUTCOME,  # stopped between two attempts, the first of them unclear
        ],
        CallState.EXECUTING: [
            *_ENDS,
            CallState.QUEUED,  # a retry by policy, or a lease that ran out before any effect
            CallState.PAUSED,
            CallState.WORKING,
            CallState.INPUT_REQUIRED,
            CallState.UNKNOWN_OUTCOME,
        ],
        CallState.WORKING: [
            *_ENDS,
            CallState.WORKING,  # another poll
            CallState.INPUT_REQUIRED,
            CallState.UNKNOWN_OUTCOME,
        ],
        CallState.INPUT_REQUIRED: [*_ENDS, CallState.WORKING, CallState.UNKNOWN_OUTCOME],
        # A person records what happened, or lets it run again with the same key.
        CallState.UNKNOWN_OUTCOME: [CallState.OK, CallState.FAILED, CallState.QUEUED],
    },
    terminal=[CallState.OK, CallState.FAILED, CallState.REJECTED, CallState.CANCELLED],
)

OPEN = tuple(state for state in CallState if not CALLS.is_terminal(state))


class BreakerState(models.TextChoices):
    """Whether calls reach an adapter."""

    CLOSED = "closed", "Closed: calls pass"
    OPEN = "open", "Open: calls are refused"
    HALF_OPEN = "half_open", "Half open: a few calls probe"


BREAKERS = TransitionTable(
    "breaker",
    initial=BreakerState.CLOSED,
    transitions={
        BreakerState.CLOSED: [BreakerState.OPEN],
        BreakerState.OPEN: [BreakerState.HALF_OPEN, BreakerState.CLOSED],
        BreakerState.HALF_OPEN: [BreakerState.OPEN, BreakerState.CLOSED],
    },
    terminal=[],
)
