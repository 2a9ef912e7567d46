"""Refusals by budget, rate, loop guard and breaker, and by what keeps the house running."""

from __future__ import annotations

from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Refused, RunFacts, Step, Today, Way
from gateway.explaining.wording import ADMIN, DEVELOPER, OPERATOR, OWNER, remedy, said, titled


@explains("budget.exhausted")
def explain_budget(refused: Refused, today: Today) -> Explanation:
    """Calls, money or time of the run are used up."""
    return Explanation(
        step=Step.LIMITS,
        headline="The run has used up its budget.",
        because=[
            *said(refused),
            *(_used(today.run) if today.run else []),
        ],
        missing=["Room in the run's budget for one more call"],
        ways=[
            Way("Open a new run and go on there.", DEVELOPER),
            Way("Open runs with a larger run_budget, up to the tenant's limit.", DEVELOPER),
            Way("Raise the tenant's limits for runs, on the tenant's page.", ADMIN),
        ],
        involved=[refused.run] if refused.run else [],
    )


def _used(run: RunFacts) -> list[str]:
    words = [
        f"Calls: {run.calls[0]} of {run.calls[1]} used.",
        f"Cost: {run.cents[0]} of {run.cents[1]} cents spent or reserved.",
    ]
    if run.expires_in_seconds <= 0:
        words.append("The run's last moment has passed.")
    elif run.wall_ms_left <= 0:
        words.append("The run's wall time is over; waiting for people did not count in it.")
    return words


@explains("rate.limited")
def explain_rate(refused: Refused, today: Today) -> Explanation:
    """Too many calls in a short time."""
    return Explanation(
        step=Step.LIMITS,
        headline="Too many calls to this capability in a short time.",
        because=[
            *said(refused),
            "The rate is counted per tenant and capability; nothing was started.",
        ],
        ways=[
            Way("Wait as long as Retry-After says, then go on more slowly."),
            Way("Have the capability's rate_limit changed by review.", OWNER, refused.capability),
        ],
        involved=[refused.capability],
    )


@explains("loop.detected")
def explain_loop(refused: Refused, today: Today) -> Explanation:
    """The same call fails again and again: one more would fail as well."""
    return Explanation(
        step=Step.LIMITS,
        headline="The same call keeps failing in this run.",
        because=[
            *said(refused),
            (
                "Capability and arguments are the same each time, so nothing suggests that the "
                "next attempt would end otherwise. Other arguments are not held back."
            ),
        ],
        ways=[
            Way("Read why the calls before failed, and call with other arguments."),
            Way("Wait as long as Retry-After says, if the adapter's owner mended it meanwhile."),
            Way("Find out why the adapter fails.", OWNER),
        ],
        involved=refused.call,
    )


@explains("circuit.open")
def explain_breaker(refused: Refused, today: Today) -> Explanation:
    """The adapter fails again and again, so it is left alone for a while."""
    return Explanation(
        step=Step.LIMITS,
        headline="The adapter is failing and rests for a while.",
        because=[
            (
                "Its last calls failed; further ones would only wait for the same failure. "
                "A single call is let through from time to time to see whether it has recovered."
            )
        ],
        ways=[
            Way("Try again after the time in Retry-After; the key may stay the same."),
            Way("Find out why the adapter fails.", OWNER),
        ],
        involved=[refused.capability],
    )


@explains("adapter.busy")
def explain_busy(refused: Refused, today: Today) -> Explanation:
    """As many quick calls of the adapter run as may, so that it can't take every thread."""
    return Explanation(
        step=Step.LIMITS,
        headline="The adapter has as many calls under way as it may.",
        because=[
            *said(refused),
            "Nothing was started. Nobody waits for a place, so that no other adapter is held up.",
        ],
        ways=[
            Way("Try again in a moment, with fewer calls at the same time."),
            Way("Find out why the adapter is slow.", OWNER),
            Way("Give the adapter more places on its health page.", OPERATOR),
        ],
        involved=[refused.capability],
    )


@explains("record.unavailable", "internal.error")
def explain_house(refused: Refused, today: Today) -> Explanation:
    """The house itself could not do its part; nothing was started."""
    return Explanation(
        step=Step.LIMITS,
        headline=titled(refused),
        because=["Nothing was started, and no key is bound: what can't be recorded is not done."],
        ways=[
            remedy(refused, DEVELOPER),
            Way("Check /readyz and the worker's log.", OPERATOR),
        ],
    )
