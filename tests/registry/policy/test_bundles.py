"""Bundles: what stops publication, their own tests, redaction, and obligations."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from contextos.core.redaction import redact
from registry.policy import (
    PolicyInputs,
    check_bundle,
    compile_bundle,
    read_inputs,
    run_bundle_tests,
    unmet_obligations,
)
from registry.policy.selectors import CallScope
from tests.registry.policy.world import GATE, REFUND, RUN, bundle, decide, inputs, rule


def _without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name}


def _guard(**members: Any) -> dict[str, Any]:
    return bundle(guardrails=members)


def _then(**members: Any) -> dict[str, Any]:
    return bundle(rule(**members))


@pytest.mark.proves("C4")
@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (_without(bundle(), "bundle_id"), "/bundle_id"),
        (_without(bundle(), "version"), "/version"),
        (_without(bundle(), "priority"), "/priority"),
        (_without(bundle(), "rules"), "/rules"),
        (bundle(version="1"), "/version"),
        (bundle(priority="high"), "/priority"),
        (bundle(priority=1.5), "/priority"),
        (bundle(guardrials={}), ""),
        (bundle(_without(rule(), "if")), "/rules/0/if"),
        (bundle(_without(rule(), "applies_to")), "/rules/0/applies_to"),
        (bundle({**rule(), "then": {}}), "/rules/0/then/allow"),
        (bundle({**rule(), "then": {"allow": "true"}}), "/rules/0/then/allow"),
        (bundle({**rule(), "unless": True}), "/rules/0"),
        (_then(approval_mode="sudo"), "/rules/0/then/approval_mode"),
        (_then(requires_aproval_gate=None), "/rules/0/then"),
        (_then(quorum=0), "/rules/0/then/quorum"),
        (_then(quorum=2, requires_approval_gate=None), "/rules/0/then/quorum"),
        (_then(requires=["a"], prohibits=["a"]), "/rules/0/then/prohibits"),
        (_then(arg_constraints={"x": {"maximum": 1}}), "/rules/0/then/arg_constraints/x"),
        (
            _then(arg_constraints={"x": {"pattern": "(?!a)"}}),
            "/rules/0/then/arg_constraints/x/pattern",
        ),
        (_then(arg_constraints={"x": {"min": 2, "max": 1}}), "/rules/0/then/arg_constraints/x"),
        (bundle(rule(applies_to={"capability": "*"})), "/rules/0/applies_to/capability"),
        (bundle(rule(applies_to={"capability": "payments.*"})), "/rules/0/applies_to/capability"),
        (bundle(rule(applies_to={"capability": []})), "/rules/0/applies_to/capability"),
        (bundle(rule(applies_to={"capabilty": "a"})), "/rules/0/applies_to"),
        (bundle(rule("R", {"var": "secrets.key"})), "/rules/0/if/var"),
        (bundle(rule("R", {"now": []})), "/rules/0/if/now"),
        (bundle(rule("R"), rule("R")), "/rules"),
        (
            _guard(must_refuse=[{"guardrail_id": "g", "if": {"now": []}}]),
            "/guardrails/must_refuse/0/if/now",
        ),
        (_guard(must_refuse=[5]), "/guardrails/must_refuse/0"),
        (_guard(redaction_rules=[{}]), "/guardrails/redaction_rules/0"),
        (bundle(tests=[{"input": {}}]), "/tests/0/expect"),
        (bundle(tests=[{"input": {"n": 2**60}, "expect": {"a": 1}}]), "/tests/0/input/n"),
        (bundle(tests=[{"input": {}, "expect": {}}]), "/tests/0/expect"),
        ([], ""),
        ("bundle", ""),
    ],
)
def test_a_faulty_bundle_is_refused_at_the_place(document: Any, pointer: str) -> None:
    problems = check_bundle(document)
    assert pointer in [problem.pointer for problem in problems]
    with pytest.raises(ContextOSError) as refused:
        compile_bundle(document)
    assert refused.value.code == "policy_bundle.invalid"
    assert refused.value.data["problems"]


def test_every_fault_is_named_at_once() -> None:
    document = bundle(rule("A", {"now": []}), rule("B", {"var": "x.y"}), rule("B"))
    assert len(check_bundle(document)) == 3


def test_a_digest_names_the_content() -> None:
    assert compile_bundle(bundle()).digest == compile_bundle(bundle()).digest
    assert compile_bundle(bundle()).digest != compile_bundle(bundle(priority=1)).digest
    assert compile_bundle(bundle()).ref == "returns@1.0.0"


# -- the tests a bundle carries ------------------------------------------------------------------

SMALL = {"<=": [{"var": "request.args.amount_inr"}, 5000]}
LOWERING = rule("R_SMALL", SMALL, approval_mode="delegated", requires_approval_gate=None)


def _carrying(*tests: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return bundle(LOWERING, tests=list(tests), **changes)


def _input(amount: Any, **changes: Any) -> dict[str, Any]:
    return {
        "run": RUN,
        "request": {"args": {"amount_inr": amount}},
        "capability": REFUND,
        **changes,
    }


def test_a_bundle_passes_its_own_tests() -> None:
    results = run_bundle_tests(
        _carrying(
            {
                "name": "small",
                "input": _input(5000),
                "expect": {
                    "allowed": True,
                    "effective_approval_mode": "delegated",
                    "requires_approval_gate": None,
                    "matched_rule_ids": ["R_SMALL"],
                    "reason": "policy.allowed_by_rule",
                },
            },
            {
                "input": _input(5001),
                "expect": {
                    "effective_approval_mode": "destructive",
                    "requires_approval_gate": GATE,
                },
            },
            {"input": _input(1, permitted=False), "expect": {"allowed": False}},
        )
    )
    assert [(result.name, result.differences) for result in results] == [
        ("small", ()),
        ("test 2", ()),
        ("test 3", ()),
    ]


@pytest.mark.parametrize(
    "expect",
    [
        {"allowed": False},
        {"effective_approval_mode": "destructive"},
        {"allowed": 1},
        {"alowed": True},
        {"matched_rule_ids": []},
        {"requires_approval_gate": ""},
        {"reason": "policy.denied_by_rule"},
        {"allowed": True, "quorum": 1},
    ],
)
def test_a_wrong_expectation_is_told_apart(expect: dict[str, Any]) -> None:
    (result,) = run_bundle_tests(_carrying({"input": _input(5), "expect": expect}))
    assert not result.passed
    assert len(result.differences) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"request": []},
        {"user": "me"},
        {"request": {"args": []}},
        {"approval_mode_requested": 5},
    ],
)
def test_an_input_that_can_not_be_used_fails_its_test(given: dict[str, Any]) -> None:
    (result,) = run_bundle_tests(_carrying({"input": given, "expect": {"allowed": True}}))
    assert "can't be used" in result.differences[0]


def test_the_tests_of_a_tenants_bundle_need_not_name_the_tenant() -> None:
    bare = {key: value for key, value in RUN.items() if key != "tenant_id"}
    test = {"input": _input(5, run=bare), "expect": {"allowed": True}}
    foreign = {"input": _input(5), "expect": {"allowed": False}}
    results = run_bundle_tests(_carrying(test, foreign, tenant="tenant_other"))
    assert [result.passed for result in results] == [True, True]


def test_inputs_read_back_from_their_document_are_the_same() -> None:
    call = inputs(context={"a": 1}, mode_requested="network", evidence={"refs": ["e"]})
    assert read_inputs(call.document()).document() == call.document()
    with pytest.raises(ContextOSError):
        read_inputs([])


# -- redaction and obligations -------------------------------------------------------------------


def test_redaction_rules_are_selected_for_the_call_and_understood_by_redaction() -> None:
    rules = ["card_number", "/customer/*/phone", {"hide": "note", "applies_to": {"intent": "x"}}]
    compiled = compile_bundle(bundle(guardrails={"redaction_rules": rules}))
    chosen = compiled.redaction_rules(CallScope.of(inputs()))
    assert chosen.names == {"card_number"}
    shown = redact({"card_number": "1", "customer": [{"phone": "2"}], "note": "3"}, chosen)
    assert set(shown.removed) == {"/card_number", "/customer/0/phone"}


@pytest.mark.parametrize(
    ("then", "call", "unmet"),
    [
        ({"requires": ["user_delegation"]}, {}, ("requires user_delegation",)),
        ({"requires": ["user_delegation"]}, {"user": {"delegation": {"subject": "u"}}}, ()),
        ({"requires": ["evidence"]}, {}, ("requires evidence",)),
        ({"requires": ["evidence"]}, {"evidence": {"refs": ["e"]}}, ()),
        ({"requires": ["evidence:order"]}, {"evidence": {"keys": ["order"]}}, ()),
        ({"requires": ["evidence:a"]}, {"evidence": {"refs": ["a"]}}, ("requires evidence:a",)),
        ({"requires": ["idempotency_key"]}, {}, ()),
        ({"requires": ["arg:amount_inr"]}, {}, ()),
        ({"requires": ["arg:reason"]}, {}, ("requires arg:reason",)),
        ({"requires": ["the moon"]}, {}, ("requires the moon",)),
        ({"prohibits": ["arg:amount_inr"]}, {}, ("prohibits arg:amount_inr",)),
        ({"prohibits": ["arg:reason"]}, {}, ()),
        ({"prohibits": ["user_delegation"]}, {}, ()),
        ({"prohibits": ["the sun"]}, {}, ("prohibits the sun",)),
    ],
)
def test_what_a_decision_asks_for_is_checked_and_the_unknown_is_unmet(
    then: dict[str, Any], call: dict[str, Any], unmet: tuple[str, ...]
) -> None:
    given: PolicyInputs = inputs(**call)
    decision = decide(bundle(rule(**then)), given=given)
    assert unmet_obligations(decision, given, has_idempotency_key=True) == unmet


def test_a_missing_key_is_unmet() -> None:
    decision = decide(bundle(rule(requires=["idempotency_key"])))
    assert unmet_obligations(decision, inputs(), has_idempotency_key=False) == (
        "requires idempotency_key",
    )


def test_what_an_approval_is_bound_to_leaves_out_versions_and_reasons() -> None:
    decision = decide(bundle(rule(requires=["a"])))
    assert set(decision.projection()) == {
        "allowed",
        "effective_approval_mode",
        "requires_approval_gate",
        "quorum",
        "requires",
        "prohibits",
        "arg_constraints",
    }
    again = decide(bundle(rule(requires=["a"]), version="2.0.0"))
    assert again.projection() == decision.projection()
