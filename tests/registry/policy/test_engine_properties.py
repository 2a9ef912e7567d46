"""What holds of every decision: pure, ordered, never above the maximum; and fast."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.modes import ApprovalMode
from registry.documents import schema_problems
from registry.policy import PolicyInputs, compile_bundle, evaluate, time_facts
from tests.registry.policy.world import RUN, bundle, capability, inputs, rule

MODES = [mode.value for mode in ApprovalMode]
conditions = st.sampled_from(
    [
        True,
        False,
        {"<=": [{"var": "request.args.amount_inr"}, 5000]},
        {">": [{"var": "request.args.amount_inr"}, 5000]},
        {"in": ["taint", {"var": "run.flags"}]},
        {"==": [{"var": "user.role"}, "agent"]},
        {"var": "request.args.amount_inr"},
    ]
)
effects = st.fixed_dictionaries(
    {"allow": st.sampled_from([True, True, True, False])},
    optional={
        "approval_mode": st.sampled_from(MODES),
        "requires_approval_gate": st.sampled_from(["GATE_A", "GATE_B"]),
        "arg_constraints": st.sampled_from(
            [{"x": {"min": 5}}, {"x": {"max": 7}}, {"x": {"max": 1}}]
        ),
        "requires": st.lists(st.sampled_from(["a", "b"]), unique=True),
        "prohibits": st.lists(st.sampled_from(["c", "d"]), unique=True),
    },
)
selectors = st.sampled_from(
    [{}, {"intent": "support.refund"}, {"capability": "orders.lookup"}, {"capability_class": "act"}]
)


@st.composite
def bundles(draw: st.DrawFn) -> list[dict[str, Any]]:
    documents = []
    for number in range(draw(st.integers(1, 3))):
        rules = []
        for position in range(draw(st.integers(0, 4))):
            then = draw(effects)
            condition, selector = draw(conditions), draw(selectors)
            rules.append(
                {
                    **rule(f"R{number}_{position}", condition, applies_to=selector),
                    "then": then,
                }
            )
        priority = draw(st.integers(0, 3))
        documents.append(bundle(*rules, bundle_id=f"b{number}", priority=priority))
    return documents


calls = st.builds(
    lambda mode, gate, amount, flags, role: inputs(
        capability=capability(mode, requires_approval_gate=gate),
        run={**RUN, "flags": flags},
        args={"amount_inr": amount},
        user={"role": role},
    ),
    st.sampled_from(MODES),
    st.sampled_from([None, "GATE_M"]),
    st.integers(0, 10000),
    st.lists(st.sampled_from(["taint", "x"])),
    st.sampled_from(["agent", "lead"]),
)


@pytest.mark.proves("C4")
@given(bundles(), calls, st.randoms(use_true_random=False))
def test_the_same_inputs_give_the_same_bytes_in_whatever_order_bundles_come(
    documents: list[dict[str, Any]], call: PolicyInputs, chance: random.Random
) -> None:
    once = evaluate(call, [compile_bundle(document) for document in documents])
    shuffled = chance.sample(documents, len(documents))
    again = evaluate(call, [compile_bundle(document) for document in shuffled])
    assert once.canonical() == again.canonical()


@given(bundles(), calls)
def test_no_decision_is_above_the_declared_maximum_and_each_fits_its_schema(
    documents: list[dict[str, Any]], call: PolicyInputs
) -> None:
    decision = evaluate(call, [compile_bundle(document) for document in documents])
    assert decision.effective_approval_mode is not None
    assert decision.effective_approval_mode <= call.capability["approval_mode"]
    stamped = decision.stamped(policy_decision_id="pol_1", evaluated_at="2026-01-01T00:00:00Z")
    assert schema_problems(stamped.document(), "policy-decision") == ()
    assert stamped.canonical() == decision.canonical()


@given(bundles(), calls)
def test_one_more_denying_rule_always_denies(
    documents: list[dict[str, Any]], call: PolicyInputs
) -> None:
    deny = bundle(rule("D", allow=False), bundle_id="deny", priority=-5)
    decision = evaluate(call, [compile_bundle(item) for item in (*documents, deny)])
    assert not decision.allowed


@given(bundles(), calls)
def test_adding_a_rule_that_does_not_speak_changes_nothing_but_the_versions(
    documents: list[dict[str, Any]], call: PolicyInputs
) -> None:
    silent = bundle(rule("S", False, allow=False), bundle_id="silent", priority=999)
    without = evaluate(call, [compile_bundle(item) for item in documents]).verdict()
    beside = evaluate(call, [compile_bundle(item) for item in (*documents, silent)]).verdict()
    without.pop("bundle_versions")
    beside.pop("bundle_versions")
    assert without == beside


def test_the_inputs_hash_changes_with_any_input() -> None:
    compiled = [compile_bundle(bundle())]
    base = evaluate(inputs(), compiled).inputs_hash
    variants = [
        inputs(args={"amount_inr": 4201, "currency": "INR"}),
        inputs(context={"a": 1}),
        inputs(user={"user_id": "u"}),
        inputs(agent={"agent_id": "a"}),
        inputs(run={**RUN, "flags": []}),
        inputs(evidence={"refs": []}),
        inputs(time={"hour": 1}),
        inputs(permitted=False),
        inputs(mode_requested="destructive"),
        inputs(capability=capability("network")),
    ]
    hashes = [evaluate(variant, compiled).inputs_hash for variant in variants]
    assert len({base, *hashes}) == len(variants) + 1
    assert evaluate(inputs(), compiled).inputs_hash == base


def test_time_is_an_input_like_any_other() -> None:
    from datetime import UTC, datetime

    night = bundle(rule("NIGHT", {"<": [{"var": "time.hour"}, 6]}, allow=False))
    at = {hour: time_facts(datetime(2026, 1, 5, hour, 30, tzinfo=UTC)) for hour in (5, 6)}
    assert at[5]["now"] == "2026-01-05T05:30:00.000Z"
    assert at[5]["weekday"] == 1
    verdicts = {h: evaluate(inputs(time=at[h]), [compile_bundle(night)]).allowed for h in at}
    assert verdicts == {5: False, 6: True}


@pytest.mark.parametrize("applies_to", [{}, {"capability": "payments.issue_refund"}])
def test_a_thousand_rules_are_evaluated_in_a_few_milliseconds(applies_to: dict[str, Any]) -> None:
    condition = {
        "and": [
            {"==": [{"var": "run.intent"}, "support.refund"]},
            {"<=": [{"var": "request.args.amount_inr"}, -1]},
        ]
    }
    rules = [rule(f"R{n}", condition, applies_to=applies_to) for n in range(1000)]
    compiled = [compile_bundle(bundle(*rules))]
    evaluate(inputs(), compiled)
    best = min(_timed(compiled) for _ in range(20))
    assert best < 0.1  # far off; the bench row has the promise, machines differ


def _timed(compiled: list[Any]) -> float:
    started = time.perf_counter()
    evaluate(inputs(), compiled)
    return time.perf_counter() - started
