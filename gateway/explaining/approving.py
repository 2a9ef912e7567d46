"""Calls that waited for people, and what people made of them."""

from __future__ import annotations

from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Refused, Step, Today, Way
from gateway.explaining.wording import ADMIN, AUTHOR, DEVELOPER, said

_ENDS = {
    "approval.rejected": (
        "The approvers said no.",
        "Propose it again with a new key, with other arguments or better evidence.",
    ),
    "approval.expired": (
        "Nobody decided in time.",
        "Propose it again with a new key; tell the approvers that it waits.",
    ),
    "approval.voided": (
        "What was approved is not what would have run.",
        "Propose it again with a new key: the approvers see what holds now.",
    ),
}


@explains(*_ENDS)
def explain_decided(refused: Refused, today: Today) -> Explanation:
    """The request was closed without a yes that still holds."""
    headline, way = _ENDS[refused.code]
    gate = (refused.policy or {}).get("requires_approval_gate")
    because = [*said(refused), f"The gate {gate} had to agree."] if gate else said(refused)
    return Explanation(
        step=Step.ROUTE,
        headline=headline,
        because=[
            *because,
            (
                "An approval covers exactly the arguments, versions and policy that were shown; "
                "nothing else runs on it, and no answer is not a yes."
            ),
        ],
        ways=[
            Way(way, DEVELOPER),
            Way("Have policy lower the mode for bounded requests.", AUTHOR),
            Way("See who keeps the gate, and how long a request may wait.", ADMIN),
        ],
        involved=refused.call,
    )


@explains("approval.required")
def explain_waiting(refused: Refused, today: Today) -> Explanation:
    """Not a refusal: the call waits."""
    return Explanation(
        step=Step.ROUTE,
        headline="The call waits for people to approve it.",
        because=said(refused),
        missing=["An approval"],
        ways=[
            Way("Ask for the call again later; it goes on by itself once it is approved."),
            Way("Vote on it in the approval queue.", "an approver of the gate"),
        ],
        involved=[refused.capability],
    )
