"""A run's budget: checked, reserved and settled; the database refuses what two racers agree on."""

from __future__ import annotations

from datetime import timedelta

from audit.one_statement import Computed, Update
from contextos.core.errors import ContextOSError, coded_error
from gateway.context import CallContext
from gateway.models import Run, ToolCall

CONSTRAINTS = ("run_reserves_within_budget", "run_calls_within_budget")
_STILL_WITHIN = (
    "used_calls < max_calls AND spent_cents + reserved_cents + %s <= max_cost_cents"  # old values
)


def check_budget(context: CallContext) -> None:
    """Refuse a call that the run can't pay for, in calls, money or time."""
    run = context.run
    if run is None:
        raise LookupError("the run is not loaded yet")
    if context.now >= run.expires_at:
        raise _exhausted("The run has expired.", run)
    spent = context.now - run.created_at - timedelta(milliseconds=run.waited_ms)
    if spent > timedelta(milliseconds=run.max_wall_ms):
        raise _exhausted("The run's time is used up.", run)
    if run.used_calls >= run.max_calls:
        raise _exhausted("The run's calls are used up.", run)
    if run.spent_cents + run.reserved_cents + reserve_cents(context) > run.max_cost_cents:
        raise _exhausted("The run's money is used up, or held back for calls under way.", run)


def reserve_cents(context: CallContext) -> int:
    """What the capability's manifest says one call may cost."""
    cost = context.declaration.get("cost") or {}
    reserved = cost.get("reserve_cents")
    return reserved if isinstance(reserved, int) and reserved > 0 else 0


def reservation(call: ToolCall, *, after: str | None) -> Update:
    """Take one call and its money; whoever would overdraw fails on the constraint instead."""
    return Update(
        name="budget",
        table=Run._meta.db_table,
        values={},
        add={"used_calls": 1, "reserved_cents": call.reserved_cents},
        compute={"within_budget": Computed(_STILL_WITHIN, (call.reserved_cents,))},
        where={"run_id": call.run_id},
        after=after,
    )


def settlement(call: ToolCall, *, cost_cents: int, waited_ms: int = 0) -> Update:
    """Give the reserve back and book what it really cost."""
    return Update(
        name="run",
        table=Run._meta.db_table,
        values={},
        add={
            "spent_cents": cost_cents,
            "reserved_cents": -call.reserved_cents,
            "waited_ms": waited_ms,
        },
        where={"run_id": call.run_id},
        after="call",
    )


def overdrawn(clash: Exception) -> ContextOSError | None:
    """The refusal, when a database error says that a race for the budget was lost."""
    if any(name in str(clash) for name in CONSTRAINTS) or "gateway_run" in str(clash):
        return coded_error("budget.exhausted")
    return None


def _exhausted(sentence: str, run: Run) -> ContextOSError:
    used = {
        "calls": [run.used_calls, run.max_calls],
        "cost_cents": [run.spent_cents + run.reserved_cents, run.max_cost_cents],
    }
    return coded_error("budget.exhausted", message=sentence, data={"used_of": used})
