"""Decisions: which rule wins, what becomes of mode and gate, and every way to be refused."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core.errors import ContextOSError, spec_for
from registry.policy import Reason
from registry.policy.types import PolicyInputs
from tests.registry.policy.world import (
    GATE,
    REFUND,
    RUN,
    bundle,
    capability,
    decide,
    inputs,
    reading,
    rule,
)

AMOUNT = "request.args.amount_inr"
SMALL = reading(AMOUNT, "<=", 5000)
LARGE = reading(AMOUNT, ">", 5000)
DELEGATED: dict[str, Any] = {
    "user": {"user_id": "u", "delegation": {"auth_type": "oidc", "subject": "u"}},
    "evidence": {"refs": ["ev_1"]},
}

pytestmark = pytest.mark.proves("C4")


# -- no rule speaks ------------------------------------------------------------------------------


def test_without_a_bundle_everything_is_denied() -> None:
    decision = decide()
    assert not decision.allowed
    assert decision.reason_code == Reason.NO_BUNDLE
    assert decision.bundle_versions == ()


def test_a_bundle_of_another_tenant_is_no_bundle() -> None:
    assert decide(bundle(tenant="tenant_other")).reason_code == Reason.NO_BUNDLE
    assert decide(bundle(tenant="tenant_acme_prod")).allowed


@pytest.mark.proves("B10")
def test_without_a_permission_everything_is_denied() -> None:
    decision = decide(bundle(rule()), given=inputs(permitted=False))
    assert decision.reason_code == Reason.PERMISSION_MISSING


@pytest.mark.parametrize(
    ("mode", "changes", "reason"),
    [
        ("read_only", {}, Reason.ALLOWED_BY_DEFAULT),
        ("local_write", {}, Reason.ALLOWED_BY_DEFAULT),
        ("network", {}, Reason.ALLOWED_BY_DEFAULT),
        ("delegated", DELEGATED, Reason.ALLOWED_BY_DEFAULT),
        ("delegated", {}, Reason.DELEGATION_MISSING),
        ("delegated", {"evidence": DELEGATED["evidence"]}, Reason.DELEGATION_MISSING),
        ("delegated", {"user": DELEGATED["user"]}, Reason.EVIDENCE_MISSING),
        ("delegated", {**DELEGATED, "evidence": {"refs": []}}, Reason.EVIDENCE_MISSING),
        ("delegated", {**DELEGATED, "evidence": {"refs": "ev_1"}}, Reason.EVIDENCE_MISSING),
        ("delegated", {**DELEGATED, "evidence": {"refs": [None]}}, Reason.EVIDENCE_MISSING),
        ("delegated", {**DELEGATED, "user": {"delegation": {}}}, Reason.DELEGATION_MISSING),
        ("delegated", {**DELEGATED, "user": {"delegation": "yes"}}, Reason.DELEGATION_MISSING),
        ("destructive", DELEGATED, Reason.GATE_MISSING),
    ],
)
def test_the_default_of_each_mode(mode: str, changes: dict[str, Any], reason: Reason) -> None:
    decision = decide(bundle(), given=inputs(capability=capability(mode), **changes))
    assert decision.reason_code == reason
    assert decision.allowed == (reason is Reason.ALLOWED_BY_DEFAULT)
    assert decision.effective_approval_mode == mode
    assert decision.matched_rule_ids == ()


def test_a_destructive_call_goes_through_the_manifests_gate_by_default() -> None:
    decision = decide(bundle())
    assert decision.allowed
    assert decision.requires_approval_gate == GATE
    assert decision.reason_code == Reason.APPROVAL_REQUIRED


def test_defaults_say_what_they_ask_for() -> None:
    local = decide(bundle(), given=inputs(capability=capability("local_write")))
    assert local.requires == ("idempotency_key",)
    assert local.approver == "policy:default.local_write"


@pytest.mark.parametrize("mode", [None, "", "sudo", 5, ["read_only"]])
def test_a_capability_without_a_known_mode_is_denied(mode: Any) -> None:
    given = inputs(capability={**REFUND, "approval_mode": mode})
    decision = decide(bundle(rule()), given=given)
    assert decision.reason_code == Reason.MODE_UNKNOWN
    assert decision.effective_approval_mode is None


# -- which rule wins -----------------------------------------------------------------------------


def test_deny_beats_approval_beats_allow_whatever_the_priority() -> None:
    allow = bundle(rule("A"), bundle_id="a", priority=900)
    approve = bundle(rule("P", requires_approval_gate="GATE_X"), bundle_id="p", priority=500)
    deny = bundle(rule("D", allow=False), bundle_id="d", priority=1)
    assert decide(allow, approve, deny).matched_rule_ids == ("D", "P", "A")
    assert decide(allow, approve, deny).reason_code == Reason.DENIED_BY_RULE
    gated = decide(allow, approve)
    assert gated.allowed
    assert gated.requires_approval_gate == "GATE_X"
    assert decide(bundle(rule("A"), rule("D", allow=False))).reason_code == Reason.DENIED_BY_RULE


def test_a_rule_whose_condition_is_false_does_not_speak() -> None:
    decision = decide(bundle(rule("D", LARGE, allow=False)))
    assert decision.allowed
    assert decision.matched_rule_ids == ()


@pytest.mark.parametrize(
    ("applies_to", "speaks"),
    [
        ({}, True),
        ({"intent": "support.refund"}, True),
        ({"intent": "support.exchange"}, False),
        ({"intent": ["support.exchange", "support.refund"]}, True),
        ({"intent": "Support.refund"}, False),
        ({"capability": "payments.issue_refund"}, True),
        ({"capability": "adp_payments_mcp.issue_refund"}, True),
        ({"capability": "adp_payments.issue_refund"}, True),
        ({"capability": "adp.issue_refund"}, False),
        ({"capability": "adp_pay.issue_refund"}, False),
        ({"capability": "payments.issue"}, False),
        ({"capability": ["orders.lookup", "payments.issue_refund"]}, True),
        ({"capability_class": "act"}, True),
        ({"capability_class": "observe"}, False),
        ({"adapter": "adp_payments_mcp"}, True),
        ({"adapter": "adp_payments"}, False),
        ({"environment": "production"}, True),
        ({"environment": "staging"}, False),
        ({"protocol": "mcp"}, True),
        ({"protocol": "openapi"}, False),
        ({"intent": "support.refund", "environment": "staging"}, False),
    ],
)
def test_applies_to_is_exact(applies_to: dict[str, Any], speaks: bool) -> None:
    decision = decide(bundle(rule("D", allow=False, applies_to=applies_to)))
    assert decision.allowed is not speaks


def test_an_aspect_the_call_does_not_have_matches_no_rule_that_names_it() -> None:
    given = inputs(run={"tenant_id": "tenant_acme_prod"})
    assert decide(bundle(rule(allow=False, applies_to={"intent": "x"})), given=given).allowed


# -- modes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["delegated", "network", "local_write"])
def test_a_rule_lowers_the_mode_and_the_gate_stays(mode: str) -> None:
    decision = decide(bundle(rule("L", SMALL, approval_mode=mode)))
    assert decision.effective_approval_mode == mode
    assert decision.requires_approval_gate == GATE


def test_the_lowering_rule_can_drop_the_gate_explicitly() -> None:
    decision = decide(
        bundle(rule("L", SMALL, approval_mode="delegated", requires_approval_gate=None))
    )
    assert decision.effective_approval_mode == "delegated"
    assert decision.requires_approval_gate is None
    assert decision.approver == "policy:L"
    assert decision.reason_code == Reason.ALLOWED_BY_RULE


def test_out_of_the_lowering_rules_bounds_nothing_is_lowered() -> None:
    low = rule("L", SMALL, approval_mode="delegated", requires_approval_gate=None)
    decision = decide(bundle(low), given=inputs(args={"amount_inr": 5001}))
    assert decision.effective_approval_mode == "destructive"
    assert decision.requires_approval_gate == GATE


def test_an_argument_that_is_missing_lowers_nothing() -> None:
    low = rule("L", SMALL, approval_mode="delegated", requires_approval_gate=None)
    assert decide(bundle(low), given=inputs(args={})).effective_approval_mode == "destructive"


def test_only_a_rule_that_lowers_can_drop_the_gate() -> None:
    assert decide(bundle(rule(requires_approval_gate=None))).requires_approval_gate == GATE
    same = rule(approval_mode="destructive", requires_approval_gate=None)
    assert decide(bundle(same)).requires_approval_gate == GATE


def test_another_rules_null_does_not_drop_the_gate_of_the_one_that_lowers() -> None:
    strong = bundle(rule("S", approval_mode="delegated"), bundle_id="s", priority=9)
    weak = bundle(
        rule("W", approval_mode="network", requires_approval_gate=None), bundle_id="w", priority=1
    )
    decision = decide(strong, weak)
    assert decision.effective_approval_mode == "delegated"
    assert decision.requires_approval_gate == GATE


@pytest.mark.parametrize("declared", ["read_only", "local_write", "network", "delegated"])
@pytest.mark.parametrize("stated", ["local_write", "network", "delegated", "destructive"])
def test_a_rule_never_raises_a_mode(declared: str, stated: str) -> None:
    given = inputs(capability=capability(declared), **DELEGATED)
    decision = decide(bundle(rule(approval_mode=stated)), given=given)
    assert decision.allowed
    assert decision.effective_approval_mode is not None
    assert decision.effective_approval_mode <= declared


def test_an_act_is_never_lowered_to_read_only() -> None:
    decision = decide(bundle(rule(approval_mode="read_only", requires_approval_gate=None)))
    assert decision.effective_approval_mode == "destructive"
    assert decision.requires_approval_gate == GATE
    network = capability("network")
    lowered = decide(bundle(rule(approval_mode="read_only")), given=inputs(capability=network))
    assert lowered.effective_approval_mode == "read_only"


def test_the_higher_priority_decides_the_mode_and_of_equals_the_stricter() -> None:
    high = bundle(rule("H", approval_mode="network"), bundle_id="h", priority=9)
    low = bundle(rule("L", approval_mode="delegated"), bundle_id="l", priority=1)
    assert decide(high, low).effective_approval_mode == "network"
    equal = bundle(rule("A", approval_mode="network"), rule("B", approval_mode="delegated"))
    assert decide(equal).effective_approval_mode == "delegated"


def test_a_rule_that_states_no_mode_leaves_the_word_to_the_next() -> None:
    high = bundle(rule("H", arg_constraints={"x": {"max": 1}}), bundle_id="h", priority=9)
    low = bundle(rule("L", approval_mode="delegated"), bundle_id="l", priority=1)
    assert decide(high, low).effective_approval_mode == "delegated"


def test_an_approval_cancels_the_lowering_of_an_allowing_rule() -> None:
    low = rule("L", approval_mode="local_write", requires_approval_gate=None)
    ask = rule("P", requires_approval_gate="GATE_X")
    decision = decide(bundle(low, ask))
    assert decision.effective_approval_mode == "destructive"
    assert decision.requires_approval_gate == "GATE_X"


@pytest.mark.parametrize(
    ("requested", "reason"),
    [
        ("destructive", Reason.APPROVAL_REQUIRED),
        ("read_only", Reason.APPROVAL_REQUIRED),
        ("sudo", Reason.MODE_UNKNOWN),
    ],
)
def test_a_requested_mode_changes_nothing_but_may_be_refused(
    requested: str, reason: Reason
) -> None:
    decision = decide(bundle(), given=inputs(mode_requested=requested))
    assert decision.reason_code == reason
    assert decision.effective_approval_mode == "destructive"


def test_a_request_above_the_maximum_is_refused() -> None:
    given = inputs(capability=capability("network"), mode_requested="delegated")
    assert decide(bundle(rule()), given=given).reason_code == Reason.ABOVE_MAXIMUM


@pytest.mark.parametrize(
    ("safety", "lowered", "allowed"),
    [
        ("destructive", False, True),
        ("delegated", False, False),
        ("delegated", True, True),
        ("network", True, False),
        ("yolo", False, False),
        (7, False, False),
        (None, False, True),
    ],
)
def test_no_call_goes_beyond_the_runs_safety_mode(
    safety: Any, lowered: bool, allowed: bool
) -> None:
    rules = [rule("L", approval_mode="delegated")] if lowered else []
    decision = decide(bundle(*rules), given=inputs(run={**RUN, "safety_mode": safety}))
    assert decision.allowed is allowed


# -- gates and quorum ----------------------------------------------------------------------------


def test_an_explicit_rule_may_let_an_ungated_destructive_call_through() -> None:
    decision = decide(bundle(rule("OK")), given=inputs(capability=capability("destructive")))
    assert decision.allowed
    assert decision.requires_approval_gate is None
    assert decision.approver == "policy:OK"


def test_a_quorum_alone_asks_for_people_at_the_manifests_gate() -> None:
    decision = decide(bundle(rule("Q", LARGE, quorum=2)), given=inputs(args={"amount_inr": 9000}))
    assert (decision.requires_approval_gate, decision.quorum) == (GATE, 2)
    nowhere = decide(bundle(rule("Q", quorum=2)), given=inputs(capability=capability("network")))
    assert nowhere.reason_code == Reason.GATE_MISSING


def test_gate_and_quorum_come_from_the_highest_priority_and_of_equals_the_stricter() -> None:
    high = bundle(rule("H", requires_approval_gate="GATE_H"), bundle_id="h", priority=9)
    low = bundle(rule("L", requires_approval_gate="GATE_L", quorum=3), bundle_id="l", priority=1)
    decision = decide(low, high)
    assert (decision.requires_approval_gate, decision.quorum) == ("GATE_H", 3)
    equal = bundle(
        rule("A", requires_approval_gate="GATE_A", quorum=1),
        rule("B", requires_approval_gate="GATE_B", quorum=2),
    )
    assert (decide(equal).requires_approval_gate, decide(equal).quorum) == ("GATE_B", 2)
    tie = bundle(
        rule("B", requires_approval_gate="GATE_B"), rule("A", requires_approval_gate="GATE_A")
    )
    assert decide(tie).requires_approval_gate == "GATE_A"


# -- guardrails ----------------------------------------------------------------------------------


def test_a_guardrail_refuses_what_every_rule_allows() -> None:
    guard = {"must_refuse": [{"guardrail_id": "G_LARGE", "if": LARGE}]}
    decision = decide(bundle(rule("A"), guardrails=guard), given=inputs(args={"amount_inr": 9000}))
    assert decision.reason_code == Reason.REFUSED_BY_GUARDRAIL
    assert decision.matched_rule_ids == ("G_LARGE", "A")
    assert decide(bundle(rule("A"), guardrails=guard)).allowed


def test_a_guardrail_can_be_a_flag_on_the_run() -> None:
    guarded = bundle(guardrails={"must_refuse": ["prompt_injection"]})
    for flags, allowed in [
        (["prompt_injection"], False),
        ("prompt_injection", False),
        (["other"], True),
        (["prompt_injection_tested"], True),
        ([], True),
        (None, True),
    ]:
        given = inputs(run={**RUN, "flags": flags})
        assert decide(guarded, given=given).allowed is allowed, flags


def test_an_escalation_cancels_lowering_and_brings_the_gate_back() -> None:
    low = rule("L", approval_mode="local_write", requires_approval_gate=None)
    guarded = bundle(low, guardrails={"must_escalate": ["taint"]})
    calm = decide(guarded)
    assert (calm.effective_approval_mode, calm.requires_approval_gate) == ("local_write", None)
    tainted = decide(guarded, given=inputs(run={**RUN, "flags": ["taint"]}))
    assert tainted.effective_approval_mode == "destructive"
    assert tainted.requires_approval_gate == GATE


def test_an_escalation_may_name_its_gate_and_without_any_the_call_is_denied() -> None:
    given = inputs(capability=capability("read_only"), run={**RUN, "flags": ["taint"]})
    assert (
        decide(bundle(guardrails={"must_escalate": ["taint"]}), given=given).reason_code
        == Reason.GATE_MISSING
    )
    named = {
        "guardrail_id": "E",
        "if": {"in": ["taint", {"var": "run.flags"}]},
        "requires_approval_gate": "GATE_TRUST",
        "quorum": 2,
    }
    decision = decide(bundle(guardrails={"must_escalate": [named]}), given=given)
    assert (decision.requires_approval_gate, decision.quorum) == ("GATE_TRUST", 2)


def test_a_guardrail_applies_only_where_it_says() -> None:
    guard = {"guardrail_id": "G", "if": True, "applies_to": {"capability": "orders.lookup"}}
    assert decide(bundle(guardrails={"must_refuse": [guard]})).allowed


# -- constraints and obligations -----------------------------------------------------------------


def test_constraints_and_obligations_of_all_matching_rules_come_together() -> None:
    decision = decide(
        bundle(
            rule("A", arg_constraints={"amount_inr": {"max": 9000}}, requires=["b", "a"]),
            rule("B", arg_constraints={"amount_inr": {"max": 7000, "min": 1}}, prohibits=["c"]),
            rule("C", LARGE, arg_constraints={"amount_inr": {"max": 1}}),
        )
    )
    assert decision.verdict()["arg_constraints"] == {"amount_inr": {"min": 1, "max": 7000}}
    assert decision.requires == ("a", "b")
    assert decision.prohibits == ("c",)


def test_rules_that_contradict_each_other_deny() -> None:
    numbers = bundle(
        rule("A", arg_constraints={"x": {"min": 5}}), rule("B", arg_constraints={"x": {"max": 4}})
    )
    words = bundle(rule("A", requires=["x"]), rule("B", prohibits=["x"]))
    for document in (numbers, words):
        decision = decide(document)
        assert decision.reason_code == Reason.CONFLICT
        assert decision.arg_constraints == {}


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    [
        {"var": "run.intent"},
        {"<": [{"var": "run.intent"}, 5]},
        {"/": [1, {"var": "request.args.zero"}]},
        {"+": [{"var": "request.args.amount_inr"}, 1]},
    ],
)
@pytest.mark.parametrize("allow", [True, False])
def test_a_rule_that_fails_denies_whatever_it_would_have_said(condition: Any, allow: bool) -> None:
    decision = decide(bundle(rule("FINE"), rule("BROKEN", condition, allow=allow)))
    assert not decision.allowed
    assert decision.reason_code == Reason.EVALUATION_ERROR
    assert decision.matched_rule_ids == ("BROKEN", "FINE")


def test_a_broken_rule_about_something_else_does_no_harm() -> None:
    broken = rule("B", {"var": "run.intent"}, applies_to={"capability": "orders.lookup"})
    assert decide(bundle(broken)).allowed


def test_inputs_that_are_no_json_are_refused_with_a_code() -> None:
    for value in (float("nan"), 2**60, "\ud800", object()):
        with pytest.raises(ContextOSError) as refused:
            decide(bundle(), given=inputs(args={"x": value}))
        assert refused.value.code.startswith("json.")


def test_every_denial_has_a_catalogued_code() -> None:
    allowing = {Reason.ALLOWED_BY_RULE, Reason.ALLOWED_BY_DEFAULT, Reason.APPROVAL_REQUIRED}
    for reason in set(Reason) - allowing:
        assert spec_for(reason.value).http_status in (403, 422)


def test_inputs_default_to_nothing_permitted() -> None:
    assert PolicyInputs(capability=REFUND).permitted is False
