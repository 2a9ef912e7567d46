"""A run's budget: checked, reserved and settled; the database refuses what two racers agree on."""

from __future__ import annotations

from datetime import datetime, timedelta

from audit.one_statement import Computed, Update
from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError, coded_error
from gateway.context import CallContext
from gateway.models import Run, ToolCall
from gateway.states import CallState

CONSTRAINTS = ("run_reserves_within_budget", "run_calls_within_budget")
_FOR_PEOPLE = (CallState.PAUSED, CallState.INPUT_REQUIRED)
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
    allowed = timedelta(milliseconds=run.max_wall_ms)
    if spent > allowed and spent - being_waited(run, context.now) > allowed:
        raise _exhausted("The run's time is used up.", run)
    if run.used_calls >= run.max_calls:
        raise _exhausted("The run's calls are used up.", run)
    if run.spent_cents + run.reserved_cents + reserve_cents(context) > run.max_cost_cents:
        raise _exhausted("The run's money is used up, or held back for calls under way.", run)


def being_waited(run: Run, now: datetime) -> timedelta:
    """How long people have been waited for up to now; waits that ended are in `waited_ms`."""
    waiting = ToolCall.objects.filter(run=run, state__in=_FOR_PEOPLE)
    return max((waited_by(call, now) for call in waiting), default=timedelta(0))


def waited_by(call: ToolCall, now: datetime) -> timedelta:
    """How long a call has been waiting for people; nothing while it waits for none."""
    if call.state not in _FOR_PEOPLE:
        return timedelta(0)
    asked = call.input_request
    return max(timedelta(0), now - (parse_time(asked["asked_at"]) if asked else call.created_at))


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
