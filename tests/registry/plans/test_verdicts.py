"""What a verdict says beyond its codes: modes, approvals, expanded steps, replan or reject."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from registry.documents import schema_problems
from registry.plans import CODES, read_pack, verify_plan
from tests.registry.plans.rows import (
    arguments,
    capabilities,
    keys,
    modes,
    order,
    permissions,
    skills,
)
from tests.registry.plans.world import (
    IDENTITY,
    KEY,
    NO_REFUND,
    REFUND,
    judge,
    lookup,
    lowering,
    pack,
    plan,
    refund,
    refund_args,
    skill_step,
    step,
    with_capability,
)

ALL_ROWS = [
    row
    for module in (permissions, capabilities, arguments, keys, modes, order, skills)
    for rows in module.TABLES.values()
    for row in rows
]
CUSTOMER = {"context": {"customer_id": "cus_1"}}
pytestmark = pytest.mark.proves("C19")


def test_ok_means_no_finding() -> None:
    verdict = judge(plan(lookup("s1"), refund("s2", depends_on=["s1"], requires_evidence=["s1"])))
    assert verdict.verdict == "ok"
    assert verdict.document() == {
        "verdict": "ok",
        "findings": [],
        "approval_required_steps": ["s2"],
        "effective_modes": {"s1": "read_only", "s2": "destructive"},
        "expanded_steps": [
            lookup("s1"),
            refund("s2", depends_on=["s1"], requires_evidence=["s1"]),
        ],
    }


def test_a_plan_without_steps_is_ok() -> None:
    assert judge(plan()).document()["verdict"] == "ok"


@pytest.mark.parametrize("row", ALL_ROWS, ids=lambda row: row[0])
def test_replan_only_if_every_finding_can_be_mended(row: Any) -> None:
    _, document, against, run, expected = row
    mendable = all(
        code.split(".")[0] in ("args", "idempotency", "evidence", "plan") for code in expected
    )
    wanted = "ok" if not expected else "replan" if mendable else "reject"
    assert judge(document, against, run).verdict == wanted


@pytest.mark.parametrize("row", ALL_ROWS, ids=lambda row: row[0])
def test_every_verdict_fits_its_schema_and_every_message_is_one_sentence(row: Any) -> None:
    _, document, against, run, _ = row
    verdict = judge(document, against, run)
    assert schema_problems(verdict.document(), "plan-verdict") == ()
    for finding in verdict.findings:
        assert finding.message.endswith(".")
        assert "\n" not in finding.message
        assert finding.severity == "block"


@pytest.mark.parametrize("row", ALL_ROWS, ids=lambda row: row[0])
def test_judging_changes_nothing_and_judging_again_says_the_same(row: Any) -> None:
    _, document, against, run, _ = row
    given = copy.deepcopy((document, against or pack(), run))
    first = verify_plan(*given)
    assert given == (document, against or pack(), run)
    assert verify_plan(document, read_pack(given[1]), run).document() == first.document()


def test_findings_come_in_the_order_of_steps_and_then_of_codes() -> None:
    bad = refund("s2", args=refund_args(amount_inr=0), idempotency_key=..., decision_binding="x")
    verdict = judge(plan(step("s1", "no.such"), bad, lookup("s3", depends_on=["s3"])))
    assert [(f.step_id, f.code) for f in verdict.findings] == [
        ("s1", "permission.missing"),
        ("s1", "capability.unknown"),
        ("s2", "args.schema"),
        ("s2", "args.constraint"),
        ("s2", "idempotency.missing"),
        ("s2", "decision.mismatch"),
        ("s3", "plan.dependency_cycle"),
    ]
    ranks = [CODES.index(f.code) for f in verdict.findings if f.step_id == "s2"]
    assert ranks == sorted(ranks)


def test_unknown_members_are_ignored_everywhere() -> None:
    document = plan(refund(note="x", priority=9), author="me", intent_version=2)
    against = pack(signature="abc", capabilities=[{**REFUND, "colour": "red"}])
    assert judge(document, against, {"user_agent": "x", "nested": {"a": 1}}).verdict == "ok"


# -- effective modes -----------------------------------------------------------------------------


AT_THE_BOUND = plan(refund(args=refund_args(amount_inr=5000)))
BEYOND_IT = plan(refund(args=refund_args(amount_inr=5001)))
EXACTLY = {"min": 4200, "max": 4200}


@pytest.mark.proves("C4")
@pytest.mark.parametrize(
    ("document", "against", "mode", "listed"),
    [
        (plan(refund()), None, "destructive", True),
        (plan(refund(approval_mode_requested="read_only")), None, "destructive", True),
        (plan(refund()), lowering("delegated"), "delegated", True),
        (plan(refund()), lowering("network"), "network", True),
        (plan(refund()), lowering("local_write"), "local_write", False),
        (plan(refund()), lowering("read_only"), "destructive", True),
        (AT_THE_BOUND, lowering("delegated"), "delegated", True),
        (BEYOND_IT, lowering("delegated"), "destructive", True),
        (plan(refund()), lowering("delegated", amount_inr=EXACTLY), "delegated", True),
        (plan(refund()), lowering("delegated", missing={"max": 1}), "destructive", True),
        (plan(refund()), lowering("delegated", currency={"enum": ["INR"]}), "delegated", True),
        (plan(refund()), lowering("delegated", currency={"enum": ["USD"]}), "destructive", True),
        (plan(refund(approval_mode_requested="network")), lowering("delegated"), "delegated", True),
        (plan(lookup()), None, "read_only", False),
        (plan(step("s1", "idv.verify")), None, "network", True),
        (plan(step("s1", "notes.append", idempotency_key="k")), None, "local_write", False),
    ],
)
def test_the_effective_mode_and_whether_people_are_asked(
    document: dict[str, Any], against: dict[str, Any] | None, mode: str, listed: bool
) -> None:
    verdict = judge(document, against)
    assert verdict.effective_modes == {"s1": mode}
    assert verdict.approval_required_steps == (("s1",) if listed else ())
    assert verdict.verdict == "ok"


def _policies(*entries: tuple[str, Any]) -> dict[str, Any]:
    return pack(
        effective_mode_policy=[
            {"capability_id": "payments.issue_refund", "when": when, "effective_mode": mode}
            for mode, when in entries
        ]
    )


@pytest.mark.parametrize(
    ("against", "mode"),
    [
        (_policies(("local_write", {}), ("delegated", {})), "delegated"),
        (_policies(("delegated", {}), ("local_write", {})), "delegated"),
        (_policies(("delegated", "always")), "destructive"),
        (_policies(("delegated", None)), "destructive"),
        (_policies(("delegated", {"amount_inr": 4200})), "destructive"),
        (
            pack(
                effective_mode_policy=[
                    {
                        "capability_id": "adp_payments.issue_refund",
                        "when": {"amount_inr": {"max": 5000}},
                        "effective_mode": "delegated",
                    }
                ]
            ),
            "delegated",
        ),
    ],
)
def test_of_several_policies_the_stricter_holds_and_unreadable_ones_do_not_apply(
    against: dict[str, Any], mode: str
) -> None:
    assert judge(plan(refund()), against).effective_modes == {"s1": mode}


def test_a_policy_never_raises_a_mode() -> None:
    entry = {
        "capability_id": "payments.lookup_transaction",
        "when": {},
        "effective_mode": "network",
    }
    verdict = judge(plan(lookup()), pack(effective_mode_policy=[entry]))
    assert verdict.effective_modes == {"s1": "read_only"}
    assert verdict.verdict == "ok"


def test_a_capability_of_no_known_mode_is_listed_as_needing_approval() -> None:
    verdict = judge(plan(refund()), with_capability(REFUND, approval_mode="?"))
    assert verdict.effective_modes == {}
    assert verdict.approval_required_steps == ("s1",)


def test_refused_steps_still_show_their_mode() -> None:
    verdict = judge(plan(refund()), NO_REFUND)
    assert verdict.effective_modes == {"s1": "destructive"}


# -- expansion -----------------------------------------------------------------------------------


@pytest.mark.proves("B13")
def test_a_skill_expands_inline_in_its_own_order() -> None:
    verdict = judge(
        plan(
            lookup("s0"),
            skill_step("skill.support.identity_verification", "s1", depends_on=["s0"]),
            refund("s2", depends_on=["s1"], requires_evidence=["s1"]),
        ),
        run=CUSTOMER,
    )
    assert verdict.verdict == "ok"
    assert [
        (item["step_id"], item["capability_id"], item.get("from_skill"), item.get("depends_on"))
        for item in verdict.expanded_steps
    ] == [
        ("s0", "payments.lookup_transaction", None, None),
        ("s1.1", "idv.verify", IDENTITY["skill_id"], ["s0"]),
        ("s1.2", "orders.lookup", IDENTITY["skill_id"], ["s1.1"]),
        ("s2", "payments.issue_refund", None, ["s1.2"]),
    ]
    assert verdict.expanded_steps[-1]["requires_evidence"] == ["s1.1", "s1.2"]
    assert verdict.effective_modes == {
        "s0": "read_only",
        "s1": "network",
        "s1.1": "network",
        "s1.2": "read_only",
        "s2": "destructive",
    }
    assert verdict.approval_required_steps == ("s1", "s1.1", "s2")


def test_an_expanded_plan_is_a_plan_with_the_same_verdict() -> None:
    first = judge(plan(skill_step("skill.support.identity_verification")), run=CUSTOMER)
    steps = [dict(item) for item in first.expanded_steps]
    steps[1]["args"] = {"order_id": "ord_1"}
    again = judge(plan(*steps), run=CUSTOMER)
    assert again.verdict == "ok"
    assert again.expanded_steps == tuple(steps)


def test_a_skills_arguments_are_shared_out_by_what_each_schema_names() -> None:
    args = {"order_id": "ord_1", "transaction_id": "txn_1", "note": "for the prompt"}
    verdict = judge(plan(skill_step("skill.support.refund_evidence", args=args)))
    assert verdict.verdict == "ok"
    assert [item["args"] for item in verdict.expanded_steps] == [
        {"order_id": "ord_1"},
        {"transaction_id": "txn_1"},
    ]


def test_a_skills_arguments_can_be_written_per_capability() -> None:
    args = {"orders.lookup": {"order_id": "o"}, "adp_payments.lookup_transaction": {"x": 1}}
    verdict = judge(plan(skill_step("skill.support.refund_evidence", args=args)))
    assert verdict.expanded_steps[0]["args"] == {"order_id": "o"}


def test_arguments_a_skill_has_yet_to_find_are_not_missed_but_wrong_ones_are() -> None:
    assert judge(plan(skill_step("skill.support.refund_evidence"))).verdict == "ok"
    wrong = skill_step("skill.support.refund_evidence", args={"transaction_id": 5})
    verdict = judge(plan(wrong))
    assert [f.code for f in verdict.findings] == ["args.schema"]
    assert verdict.findings[0].step_id == "s1"


def test_ids_of_expanded_steps_never_collide() -> None:
    verdict = judge(plan(skill_step("skill.support.refund_evidence"), lookup("s1.1")))
    ids = [item["step_id"] for item in verdict.expanded_steps]
    assert ids == ["s1.1_", "s1.2", "s1.1"]


def test_a_write_inside_a_skill_takes_the_steps_key() -> None:
    act = {"skill_id": "skill.act", "version": "1.0.0", "required_capabilities": ["notes.append"]}
    against = pack(skills=[act])
    assert judge(plan(skill_step("skill.act", idempotency_key=KEY)), against).verdict == "ok"
    assert judge(plan(skill_step("skill.act")), against).verdict == "replan"


@pytest.mark.proves("B16")
def test_an_alias_and_the_other_spelling_are_resolved_in_the_expanded_plan() -> None:
    verdict = judge(
        plan(
            lookup("a", capability_id="mcp_payments_lookup_transaction"),
            lookup("b", capability_id="adp_payments.lookup_transaction"),
        )
    )
    assert {item["capability_id"] for item in verdict.expanded_steps} == {
        "payments.lookup_transaction"
    }
