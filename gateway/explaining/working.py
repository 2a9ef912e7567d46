"""Ends of calls under way: lost workers, long work that ran out of time, cancelling, input."""

from __future__ import annotations

from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Refused, Step, Today, Way
from gateway.explaining.wording import DEVELOPER, OPERATOR, OWNER, remedy, said, titled


@explains("call.worker_lost", "call.lost_lease")
def explain_lost_worker(refused: Refused, today: Today) -> Explanation:
    """The process that held the call ended without a word."""
    taken_over = refused.code == "call.lost_lease"
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=[
            "The worker that came second may not record what it saw."
            if taken_over
            else "What can't do harm twice was tried again; a write of an adapter that does not "
            "deduplicate waits for a person instead.",
        ],
        ways=[
            Way("Ask for the call's state; do not send it again with another key."),
            Way("Look in the worker's log for the reason it ended.", OPERATOR),
        ],
        involved=[refused.capability],
    )


@explains("task.expired", "task.unreachable")
def explain_long_work(refused: Refused, today: Today) -> Explanation:
    """Long work that can't be waited for any longer, or not at all."""
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=said(refused),
        ways=[
            remedy(refused, OWNER, refused.capability),
            Way("Ask for less work at a time.", DEVELOPER),
        ],
        involved=[refused.capability],
    )


@explains("call.cancelled", "outcome.did_not_happen")
def explain_ended_by_people(refused: Refused, today: Today) -> Explanation:
    """Somebody decided that it does not happen, or found out that it did not."""
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=[*said(refused), "Who said so, and why, stands in the log."],
        ways=[remedy(refused, DEVELOPER)],
        involved=[refused.capability],
    )


@explains(
    "call.already_ended",
    "call.just_moved",
    "call.not_cancellable",
    "call.reason_missing",
    "input.invalid",
    "input.not_awaited",
)
def explain_wrong_moment(refused: Refused, today: Today) -> Explanation:
    """Cancelling or answering a call that is not in a state for it."""
    return Explanation(
        step=Step.DOOR,
        headline=titled(refused),
        because=said(refused),
        ways=[remedy(refused, DEVELOPER)],
        involved=[refused.capability] if refused.capability_id else [],
    )
