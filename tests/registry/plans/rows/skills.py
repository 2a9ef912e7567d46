"""Skills and their preconditions: plans that earn a code, and near misses."""

from __future__ import annotations

from typing import Any

from tests.registry.plans.world import (
    EVIDENCE,
    LOOKUP,
    NO_REFUND,
    ORDERS,
    Row,
    lookup,
    pack,
    permission,
    plan,
    refund,
    skill_step,
    step,
)

IDENTITY_STEP = skill_step("skill.support.identity_verification")
EVIDENCE_STEP = skill_step("skill.support.refund_evidence")
KNOWN_CUSTOMER = {"context": {"customer_id": "cus_1"}}


def _skill(**changes: Any) -> dict[str, Any]:
    return pack(skills=[{**EVIDENCE, **changes}])


PRECONDITION: list[Row] = [
    ("absent", plan(IDENTITY_STEP), None, None, ["skill.precondition_failed"]),
    (
        "null",
        plan(IDENTITY_STEP),
        None,
        {"context": {"customer_id": None}},
        ["skill.precondition_failed"],
    ),
    (
        "other name",
        plan(IDENTITY_STEP),
        None,
        {"context": {"customer": "c"}},
        ["skill.precondition_failed"],
    ),
    (
        "other intent",
        plan(EVIDENCE_STEP, intent="support.exchange"),
        None,
        None,
        ["skill.precondition_failed"],
    ),
    (
        "the run's intent counts, not the plan's",
        plan(EVIDENCE_STEP),
        None,
        {"intent": "support.exchange"},
        ["skill.precondition_failed"],
    ),
    (
        "one of two",
        plan(EVIDENCE_STEP),
        _skill(preconditions=["run_context.intent == support.refund and request.context.a == 1"]),
        None,
        ["skill.precondition_failed"],
    ),
    (
        "not understood",
        plan(EVIDENCE_STEP),
        _skill(preconditions=["customer seems nice"]),
        None,
        ["skill.precondition_failed"],
    ),
    (
        "no text",
        plan(EVIDENCE_STEP),
        _skill(preconditions=[5]),
        None,
        ["skill.precondition_failed"],
    ),
    (
        "expanded by the planner",
        plan(step("s1", "idv.verify", from_skill="skill.support.identity_verification")),
        None,
        None,
        ["skill.precondition_failed"],
    ),
    ("present", plan(IDENTITY_STEP), None, KNOWN_CUSTOMER, []),
    ("present though blank", plan(IDENTITY_STEP), None, {"context": {"customer_id": ""}}, []),
    ("right intent", plan(EVIDENCE_STEP), None, None, []),
    (
        "evidence of an earlier step",
        plan(
            step("s0", "orders.lookup", args={"order_id": "o"}),
            skill_step("skill.support.refund_evidence"),
        ),
        _skill(preconditions=["evidence_refs includes order_lookup"]),
        None,
        [],
    ),
    (
        "evidence of a later step",
        plan(
            skill_step("skill.support.refund_evidence"),
            step("s2", "orders.lookup", args={"order_id": "o"}),
        ),
        _skill(preconditions=["evidence_refs includes order_lookup"]),
        None,
        ["skill.precondition_failed"],
    ),
    (
        "evidence the run holds",
        plan(EVIDENCE_STEP),
        _skill(preconditions=["evidence_refs includes ev_1"]),
        {"evidence_refs": ["ev_1"]},
        [],
    ),
]

_UNPERMITTED = ["permission.missing", "skill.capability_not_permitted"]
SKILL: list[Row] = [
    (
        "a part without permission",
        plan(EVIDENCE_STEP),
        pack(permissions=[permission(LOOKUP)]),
        None,
        _UNPERMITTED,
    ),
    (
        "both parts without permission",
        plan(EVIDENCE_STEP),
        pack(permissions=[]),
        None,
        ["permission.missing"] * 2 + ["skill.capability_not_permitted"] * 2,
    ),
    (
        "a part denied",
        plan(EVIDENCE_STEP),
        pack(permissions=[permission(LOOKUP), permission(ORDERS, allow=False)]),
        None,
        ["permission.denied", "skill.capability_not_permitted"],
    ),
    (
        "a part nobody declares",
        plan(EVIDENCE_STEP),
        _skill(required_capabilities=["orders.delete"]),
        None,
        ["permission.missing", "capability.unknown", "skill.capability_not_permitted"],
    ),
    (
        "an unknown skill",
        plan(skill_step("skill.unknown")),
        None,
        None,
        ["permission.missing", "capability.unknown", "skill.capability_not_permitted"],
    ),
    (
        "a part of another class than the skill says",
        plan(EVIDENCE_STEP),
        _skill(required_capabilities=[{"capability_class": "verify", "name": "orders.lookup"}]),
        None,
        ["skill.capability_not_permitted"],
    ),
    (
        "a step that claims a skill without permission",
        plan(refund(from_skill="skill.anything")),
        NO_REFUND,
        None,
        _UNPERMITTED,
    ),
    (
        "a step that claims a skill it is no part of",
        plan(refund(from_skill="skill.support.refund_evidence")),
        None,
        None,
        ["skill.capability_not_permitted"],
    ),
    (
        "a skill of nothing",
        plan(EVIDENCE_STEP),
        _skill(required_capabilities=[]),
        None,
        ["skill.capability_not_permitted"],
    ),
    ("bare names", plan(EVIDENCE_STEP), None, None, []),
    ("names with classes", plan(IDENTITY_STEP), None, KNOWN_CUSTOMER, []),
    ("by version", plan(skill_step("skill.support.refund_evidence@1.0.0")), None, None, []),
    (
        "by a version that is not there",
        plan(skill_step("skill.support.refund_evidence@2.0.0")),
        None,
        None,
        ["permission.missing", "capability.unknown", "skill.capability_not_permitted"],
    ),
    (
        "a step that claims a skill it is part of",
        plan(lookup(from_skill="skill.support.refund_evidence")),
        None,
        None,
        [],
    ),
    (
        "an act hidden in a skill",
        plan(EVIDENCE_STEP, intent_mode="read_only"),
        _skill(required_capabilities=["payments.issue_refund"]),
        None,
        ["intent.act_in_read_only", "idempotency.missing"],
    ),
]

TABLES: dict[str, list[Row]] = {
    "precondition": PRECONDITION,
    "skill": SKILL,
}
