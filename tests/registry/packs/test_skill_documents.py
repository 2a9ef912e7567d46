"""Skill documents in both notations of required capabilities."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from registry.skills import RequiredCapability, check_skill, newest, parse_skill, read_skill

CLASSED: dict[str, Any] = {
    "skill_id": "skill.support.identity_verification",
    "version": "1.2.0",
    "purpose": "Check who asks.",
    "required_capabilities": [
        {"capability_class": "verify", "name": "adp_idv.verify"},
        {"capability_class": "observe", "name": "adp_orders.lookup"},
    ],
    "preconditions": ["request.context.customer_id is present"],
    "postconditions": ["evidence_refs includes idv.verified"],
    "prompt_fragment_ref": "prompts/skills/identity_verification.v1.2",
    "evaluation_set_ref": "evals/skills/identity_verification.golden.v1",
    "owner_role": "support_ops",
}
BARE: dict[str, Any] = {
    "skill_id": "skill.support.refund_evidence",
    "version": "1.0.0",
    "required_capabilities": ["orders.lookup", "payments.lookup_transaction"],
}


@pytest.mark.proves("B13")
def test_both_notations_are_read() -> None:
    assert parse_skill(CLASSED).required == (
        RequiredCapability("adp_idv.verify", "verify"),
        RequiredCapability("adp_orders.lookup", "observe"),
    )
    assert parse_skill(BARE).required == (
        RequiredCapability("orders.lookup"),
        RequiredCapability("payments.lookup_transaction"),
    )
    mixed = {**BARE, "required_capabilities": ["orders.lookup", {"name": "idv.verify"}]}
    assert [item.name for item in parse_skill(mixed).required] == ["orders.lookup", "idv.verify"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"skill_id": None}, "/skill_id"),
        ({"version": "one"}, "/version"),
        ({"required_capabilities": []}, "/required_capabilities"),
        ({"required_capabilities": ["*"]}, "/required_capabilities/0"),
        ({"required_capabilities": [{"capability_class": "act"}]}, "/required_capabilities/0"),
        ({"required_capabilities": ["a.b", "a.b"]}, "/required_capabilities"),
        ({"required_capabilities": ["a.b", {"name": "a.b"}]}, "/required_capabilities"),
        ({"preconditions": ["whatever"]}, "/preconditions/0"),
        ({"postconditions": ["evidence_refs includes a", "nice"]}, "/postconditions/1"),
        ({"preconditions": "run_context.intent == a"}, "/preconditions"),
    ],
)
def test_a_faulty_skill_is_refused_at_the_place(changes: dict[str, Any], pointer: str) -> None:
    document = {**BARE, **changes}
    assert pointer in [problem.pointer for problem in check_skill(document)]
    with pytest.raises(ContextOSError) as refused:
        parse_skill(document)
    assert refused.value.code == "skill.invalid"


def test_of_several_versions_the_highest_is_meant_and_each_can_be_named() -> None:
    old, new = ({**BARE, "version": version} for version in ("1.9.0", "1.10.0"))
    for order in ((old, new), (new, old)):
        found = newest(map(read_skill, order))
        assert found["skill.support.refund_evidence"].version == "1.10.0"
        assert found["skill.support.refund_evidence@1.9.0"].version == "1.9.0"
