"""What policy would say to a planned call: the certain part, and nothing that may still come."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core.modes import ApprovalMode
from registry.policy import PolicyInputs, compile_bundle, evaluate, foresee
from tests.registry.documents import bundle

REFUND: dict[str, Any] = {
    "capability_id": "payments.issue_refund",
    "adapter_id": "adp_payments",
    "capability_class": "act",
    "approval_mode": "destructive",
    "requires_approval_gate": "GATE_FINANCE_APPROVAL",
}


def _inputs(capability: dict[str, Any] | None = None, **args: Any) -> PolicyInputs:
    return PolicyInputs(
        capability=capability or REFUND,
        run={"tenant_id": "t", "safety_mode": "read_only"},
        args=args,
        permitted=True,
    )


def _rule(then: dict[str, Any], condition: Any = True, rule_id: str = "r1") -> dict[str, Any]:
    return {
        "rule_id": rule_id,
        "description": "For this test.",
        "applies_to": {},
        "if": condition,
        "then": then,
    }


def _bundles(*rules: dict[str, Any], **changes: Any) -> list[Any]:
    document = bundle(tests=[], **changes)
    return [compile_bundle({**document, "rules": list(rules)} if rules else document)]


@pytest.mark.proves("C4", "C19")
def test_the_mode_is_the_one_the_call_would_get_though_the_run_may_not_reach_it() -> None:
    low, high = _inputs(amount_inr=1000), _inputs(amount_inr=1001)
    assert foresee(low, _bundles()).mode is ApprovalMode.DELEGATED
    assert foresee(high, _bundles()).mode is ApprovalMode.DESTRUCTIVE
    assert evaluate(low, _bundles()).reason_code == "mode.above_safety_mode"


def test_a_denial_is_foreseen_with_its_sentence() -> None:
    foreseen = foresee(_inputs(amount_inr=60000), _bundles())
    assert foreseen.refusal == "The rule refund_over_limit denies this call."
    assert foreseen.depends_on_args


def test_a_guardrail_refuses_and_an_escalation_keeps_the_maximum_and_names_its_gate() -> None:
    refusing = {
        "guardrail_id": "no_odd_sums",
        "if": {"===": [{"var": "request.args.amount_inr"}, 13]},
    }
    asking = {
        "guardrail_id": "look_twice",
        "if": {"===": [{"var": "request.args.amount_inr"}, 14]},
        "requires_approval_gate": "GATE_RISK",
    }
    bundles = _bundles(guardrails={"must_refuse": [refusing], "must_escalate": [asking]})
    refused = foresee(_inputs(amount_inr=13), bundles)
    assert refused.refusal == "The guardrail no_odd_sums refuses this call."
    escalated = foresee(_inputs(amount_inr=14), bundles)
    assert (escalated.mode, escalated.gate) == (ApprovalMode.DESTRUCTIVE, "GATE_RISK")


def test_a_rule_that_can_not_be_evaluated_refuses_as_it_would_in_the_call() -> None:
    bundles = _bundles(_rule({"allow": True}, {"+": [{"var": "request.args.amount_inr"}, 1]}))
    assert foresee(_inputs(amount_inr=1), bundles).refusal is not None


def test_a_gate_that_nobody_names_is_certain_to_stop_the_call() -> None:
    ungated = {**REFUND, "requires_approval_gate": None}
    assert "gate" in str(foresee(_inputs(ungated, amount_inr=2000), _bundles()).refusal)
    assert foresee(_inputs(REFUND, amount_inr=2000), _bundles()).refusal is None


@pytest.mark.proves("C19")
def test_evidence_and_delegation_may_still_come_and_are_not_missed() -> None:
    delegated = {**REFUND, "approval_mode": "delegated", "requires_approval_gate": None}
    inputs = _inputs(delegated)
    bundles = _bundles(_rule({"allow": False}, {"===": [{"var": "request.args.x"}, 1]}))
    assert evaluate(inputs, bundles).allowed is False
    foreseen = foresee(inputs, bundles)
    assert (foreseen.mode, foreseen.refusal) == (ApprovalMode.DELEGATED, None)
    assert foreseen.requires == ("evidence", "user_delegation")


def test_bounds_and_demands_of_the_rules_come_along() -> None:
    bounds = {"amount_inr": {"max": 500}}
    then = {"allow": True, "arg_constraints": bounds, "requires": ["arg:ticket"]}
    foreseen = foresee(_inputs(amount_inr=1), _bundles(_rule(then)))
    assert foreseen.arg_constraints == bounds
    assert foreseen.requires == ("arg:ticket",)


def test_rules_that_contradict_each_other_stop_every_call() -> None:
    first = _rule({"allow": True, "arg_constraints": {"n": {"max": 1}}}, rule_id="a")
    second = _rule({"allow": True, "arg_constraints": {"n": {"min": 2}}}, rule_id="b")
    foreseen = foresee(_inputs(n=1), _bundles(first, second))
    assert (
        foreseen.refusal
        == evaluate(
            PolicyInputs(capability=REFUND, args={"n": 1}, permitted=True), _bundles(first, second)
        ).reason.partition(": ")[2]
    )


def test_without_a_bundle_everything_is_refused_and_without_a_mode_nothing_is_known() -> None:
    assert foresee(_inputs(), []).refusal is not None
    assert foresee(_inputs({"capability_id": "a.b"}), _bundles()).mode is None
