"""Every refusal is explained: which step, why, and what would allow the call."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from contextos.core.errors import catalogue, spec_for
from gateway.explaining import (
    Explanation,
    Ref,
    Refused,
    RunFacts,
    SpokenPermission,
    Step,
    Today,
    explain,
    explained_codes,
)
from registry.policy.codes import Reason
from tests.architecture.source import ROOT, parsed

# What decides about a call; whatever code stands in there can reach a caller.
DECIDING = (
    "gateway",
    "registry/compiled.py",
    "registry/pins.py",
    "registry/tenant_documents.py",
    "registry/policy/engine.py",
)
# Not on the way of a call: fetching pictures, reading a server into a draft, commands, alerts to
# people, erasing, figures, replays, streams, and the work of people on these very pages.
ASIDE = (
    "gateway/admin/",
    "gateway/alert_delivery.py",
    "gateway/api/figures.py",
    "gateway/discovery.py",
    "gateway/erasable.py",
    "gateway/explaining/",
    "gateway/figures/",
    "gateway/icons.py",
    "gateway/management/",
    "gateway/mode_corrections.py",
    "gateway/reconcile.py",
    "gateway/replaying/",
    "gateway/siem/",
)
NEVER_A_REFUSAL = {
    Reason.ALLOWED_BY_RULE.value,
    Reason.ALLOWED_BY_DEFAULT.value,
    Reason.APPROVAL_REQUIRED.value,
    # Told to the person who does the work, never to a caller.
    *(spec.code for spec in catalogue() if spec.code.startswith(("icon.", "reconcile."))),
    "adapter.reason_missing",
    "alert.receiver_invalid",
    "breaker.already_closed",
    *("discovery.credential_withheld", "discovery.endpoint_needed", "discovery.not_mcp"),
    *("endpoint.exists", "endpoint.invalid"),
}
RUN = RunFacts(
    role="support_agent",
    environment="production",
    intent="support.refund",
    safety_mode="network",
    packs=["support_refund@1.0.0"],
    calls=(10, 10),
    cents=(120, 500),
    expires_in_seconds=60,
    wall_ms_left=1000,
)


def _permission(**changes: Any) -> SpokenPermission:
    values: dict[str, Any] = {
        "pack_ref": "support_refund@1.0.0",
        "permission_id": "perm_refund",
        "allow": True,
        "roles": ["support_agent"],
        "intents": ["support.refund"],
        "environments": ["staging"],
        "approval_mode": "delegated",
        "arg_constraints": {"amount_inr": {"max": 20000}},
    }
    return SpokenPermission(**values | changes)


def _refused(code: str, **changes: Any) -> Refused:
    values: dict[str, Any] = {
        "code": code,
        "message": "It was refused",
        "capability_id": "payments.issue_refund",
        "mode_effective": "destructive",
        "mode_highest": "destructive",
        "agent_id": "agent_1",
        "run_id": "run_1",
    }
    return Refused(**values | changes)


def _sources() -> list[Path]:
    found: list[Path] = []
    for place in DECIDING:
        path = ROOT / place
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [p for p in found if not str(p.relative_to(ROOT)).startswith(ASIDE)]


def _codes_in(path: Path) -> set[str]:
    known = {spec.code for spec in catalogue()}
    return {
        node.value
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
    }


def _raised() -> dict[str, str]:
    """Each code that stands in a deciding module, with the module."""
    return {code: path.name for path in _sources() for code in _codes_in(path)}


@pytest.mark.proves("C13")
def test_every_code_that_a_call_can_be_refused_with_has_an_explanation() -> None:
    policy = {reason.value: "registry/policy/codes.py" for reason in Reason}
    unexplained = {
        code: where
        for code, where in (_raised() | policy).items()
        if code not in explained_codes() and code not in NEVER_A_REFUSAL
    }
    assert unexplained == {}


def test_the_walk_over_the_sources_finds_what_the_pipeline_raises() -> None:
    raised = _raised()
    assert {"args.schema", "mode.above_permission", "pin.revoked", "budget.exhausted"} <= set(
        raised
    )


@pytest.mark.parametrize("code", sorted(explained_codes()))
@pytest.mark.parametrize("today", [Today(), Today(run=RUN, permissions=[_permission()])])
def test_each_explanation_names_a_step_a_reason_and_a_way_out(code: str, today: Today) -> None:
    found = explain(_refused(code), today)
    assert isinstance(found.step, Step)
    assert found.headline.endswith(".")
    assert found.ways
    assert all(way.text.endswith(".") and way.who for way in found.ways)
    assert "None" not in str([found.headline, *found.because, *found.missing])


@pytest.mark.parametrize("code", sorted(explained_codes()))
def test_an_explanation_holds_with_nothing_known_but_the_code(code: str) -> None:
    assert explain(Refused(code=code), Today()).ways


def test_a_code_that_nobody_explains_says_what_the_catalogue_says() -> None:
    found = explain(_refused("signing.key_missing"), Today())
    assert spec_for("signing.key_missing").title in found.headline


def test_an_adapters_own_code_is_its_own_words() -> None:
    found = explain(_refused("ORDER_NOT_FOUND", message="No such order."), Today())
    assert found.step is Step.INVOKE
    assert "No such order." in found.because


# --- one family each ------------------------------------------------------------------------------
def _words(found: Explanation) -> str:
    ways = [f"{way.text} {way.who}" for way in found.ways]
    return " ".join([found.headline, *found.because, *found.missing, *ways])


def test_a_missing_permission_says_which_scope_does_not_fit() -> None:
    found = explain(_refused("capability.unknown"), Today(run=RUN, permissions=[_permission()]))
    assert found.step is Step.RESOLVE
    assert "its environment is production, not staging" in _words(found)
    assert any(way.ref and way.ref.id == "support_refund@1.0.0" for way in found.ways)


def test_a_permission_in_a_pack_the_run_does_not_carry_is_pointed_at() -> None:
    other = _permission(pack_ref="finance@2.0.0", environments=[])
    found = explain(_refused("capability.unknown"), Today(run=RUN, permissions=[other]))
    assert "Open a run that carries finance@2.0.0." in _words(found)


def test_a_name_that_exists_nowhere_is_called_so() -> None:
    words = _words(explain(_refused("capability.unknown"), Today(run=RUN)))
    assert "No published adapter of this tenant offers a capability of that name." in words


def test_what_is_callable_by_now_is_said_first() -> None:
    today = Today(run=RUN, permissions=[_permission()], callable_now=True)
    first = explain(_refused("capability.unknown"), today).ways[0]
    assert first.text == "Call again: the run's tool manifest lists it now."


def test_a_switch_that_stands_is_named_with_its_page() -> None:
    switch = Ref("switch", "kill_1", "Adapter adp_payments: under attack")
    found = explain(_refused("capability.disabled"), Today(switches=[switch]))
    assert found.ways[0].ref == switch
    assert "Lift the kill switch on Adapter adp_payments" in found.ways[0].text


def test_a_switch_lifted_since_is_not_asked_to_be_lifted_again() -> None:
    words = _words(explain(_refused("capability.disabled"), Today()))
    assert "the switch that stopped it is lifted" in words
    assert "Lift the" not in words


def test_a_bound_of_a_permission_is_told_in_words() -> None:
    found = explain(
        _refused("args.constraint"),
        Today(run=RUN, permissions=[_permission(environments=["production"])]),
    )
    assert found.step is Step.VALIDATE
    assert list(found.missing) == ["amount_inr has to be at most 20000"]


def test_a_bound_of_policy_is_told_as_policys() -> None:
    policy = {
        "matched_rule_ids": ["small_refund"],
        "arg_constraints": {"amount_inr": {"min": 1, "max": 500}},
    }
    found = explain(_refused("args.constraint", policy=policy), Today())
    assert found.step is Step.POLICY
    assert list(found.missing) == ["amount_inr has to be at least 1, at most 500"]
    assert Ref("rule", "small_refund") in found.involved


def test_the_rule_that_denied_is_named() -> None:
    policy = {"matched_rule_ids": ["refund_over_limit"], "bundle_versions": ["refunds@1.0.0"]}
    found = explain(_refused("policy.denied_by_rule", policy=policy), Today())
    assert found.headline == "The rule refund_over_limit says no."
    assert Ref("bundle", "refunds@1.0.0") in found.involved


def test_a_guardrail_offers_no_way_by_changing_the_request() -> None:
    policy = {"matched_rule_ids": ["no_refunds_while_flagged"]}
    found = explain(_refused("policy.refused_by_guardrail", policy=policy), Today())
    assert all(way.who != "the agent's developer" for way in found.ways)


def test_unmet_obligations_are_listed_one_by_one() -> None:
    policy = {"requires": ["evidence:order_id", "user_delegation"], "prohibits": ["arg:note"]}
    found = explain(_refused("policy.obligation_unmet", policy=policy), Today())
    assert list(found.missing) == [
        "Evidence that carries order_id",
        "A user delegation",
        "The absence of the argument note",
    ]


def test_a_safety_mode_too_low_names_both_modes() -> None:
    found = explain(_refused("mode.above_safety_mode"), Today(run=RUN))
    assert found.headline == "The run may reach network, and this call is destructive."


def test_a_spent_budget_shows_what_was_used() -> None:
    words = _words(explain(_refused("budget.exhausted"), Today(run=RUN)))
    assert "Calls: 10 of 10 used." in words
    assert "Cost: 120 of 500 cents spent or reserved." in words


def test_a_record_is_read_as_it_is_stored() -> None:
    record = {
        "error": {"kind": "policy", "code": "run.unknown", "message": "There is no such run."},
        "capability": {"id": "orders.lookup", "mode_highest": None},
        "principal_chain": [{"kind": "user", "id": "user_1"}, {"kind": "agent", "id": "agent_1"}],
        "lineage": {"adapter_id": None},
        "policy_decision": None,
        "run_id": None,
        "evidence_refs": ["ev_1"],
    }
    refused = Refused.from_record(record)
    assert (refused.code, refused.agent_id, refused.user_id) == ("run.unknown", "agent_1", "user_1")
    assert refused.run is None
    assert refused.evidence_refs == ("ev_1",)
