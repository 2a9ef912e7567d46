"""Refusals of the second step: the key and the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Ref, Refused, Step, Today, Way
from gateway.explaining.wording import AUTHOR, DEVELOPER, bounds, remedy, said, titled


@explains("args.schema", "json.integer_too_large", "json.number_out_of_range")
def explain_schema(refused: Refused, today: Today) -> Explanation:
    """The arguments do not have the shape the capability takes."""
    return Explanation(
        step=Step.VALIDATE,
        headline="The arguments do not fit the capability's input schema.",
        because=[
            *said(refused),
            "The schema is part of the signed manifest; members it does not name are refused too.",
        ],
        missing=["Arguments that match the input schema"],
        ways=[
            Way(
                "Correct the argument named above; the same idempotency key may be used again.",
                DEVELOPER,
                refused.capability,
            )
        ],
        involved=[refused.capability],
    )


@explains("args.constraint")
def explain_constraint(refused: Refused, today: Today) -> Explanation:
    """An argument is well-formed but out of bounds; says whose bounds they are."""
    by_policy = refused.policy is not None
    limits, source = _limits(refused, today)
    named = [f"{path} has to be {bounds(limit)}" for path, limit in limits.items()]
    owner = f"Its owner is {source.text}." if source else "The bound stands in the manifest."
    return Explanation(
        step=Step.POLICY if by_policy else Step.VALIDATE,
        headline="An argument is outside its bounds.",
        because=[*said(refused), owner],
        missing=named,
        ways=[
            Way("Stay within the bounds; the same idempotency key may be used again."),
            Way(
                "Have the policy's bound changed by review."
                if by_policy
                else "Have the bound changed by review, in the pack or in the manifest.",
                AUTHOR,
                source or refused.capability,
            ),
        ],
        involved=[refused.capability, *([source] if source else [])],
    )


def _limits(refused: Refused, today: Today) -> tuple[Mapping[str, Any], Ref | None]:
    if refused.policy is not None:
        rule = refused.rules[0] if refused.rules else ""
        ref = Ref("rule", rule) if rule else None
        return refused.policy.get("arg_constraints") or {}, ref
    packs = today.run.packs if today.run else ()
    for item in today.permissions:
        if item.allow and item.arg_constraints and (not packs or item.pack_ref in packs):
            return item.arg_constraints, item.ref
    return {}, None


@explains("idempotency.missing")
def explain_key_missing(refused: Refused, today: Today) -> Explanation:
    """What can change something needs a key, so that it happens once."""
    return Explanation(
        step=Step.VALIDATE,
        headline="The call can change something and brings no idempotency key.",
        because=[
            (
                "Without a key a lost answer could only be met by doing it twice. "
                "With one, a repeat gets the recorded answer and has no second effect."
            )
        ],
        missing=["`idempotency_key` at the top of the body, or in the arguments"],
        ways=[Way("Send a fresh key, and the same one again whenever the call is repeated.")],
        involved=[refused.capability],
    )


@explains("idempotency.malformed", "idempotency.conflict")
def explain_key_misused(refused: Refused, today: Today) -> Explanation:
    """A key that can't be filed, or that stands for other arguments."""
    conflict = refused.code == "idempotency.conflict"
    return Explanation(
        step=Step.LIMITS if conflict else Step.VALIDATE,
        headline=titled(refused),
        because=[
            *said(refused),
            *(
                ["One key stands for one set of arguments, within its window and for this caller."]
                if conflict
                else []
            ),
        ],
        ways=[remedy(refused, DEVELOPER)],
        involved=[refused.capability],
    )


@explains("idempotency.in_flight")
def explain_in_flight(refused: Refused, today: Today) -> Explanation:
    """The first call with this key is still under way."""
    return Explanation(
        step=Step.LIMITS,
        headline="The same call is being executed right now.",
        because=["A second attempt beside the first could do it twice."],
        ways=[
            Way("Wait a moment and repeat the call with the same key: it gets the result."),
            Way("Or ask for the call by its tool_call_id."),
        ],
        involved=[refused.capability],
    )
