"""Gates as documents: what the examination finds, what terms mean, how votes are counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.gate_examination import LONGEST_WAIT, examine
from approvals.gates import FactorRule, GateTerms, read_terms, tally
from contextos.core import strict_json
from contextos.review.findings import Severity
from tests.architecture.source import ROOT
from tests.depth import examples

SIZES = {"finance": 2, "managers": 1, "empty": 0}


def gate(**changes: Any) -> dict[str, Any]:
    path = ROOT / "examples" / "gates" / "finance.json"
    return {**strict_json.loads_object(path.read_bytes()), **changes}


def stage(name: str = "finance", groups: Any = ("finance",), quorum: Any = 1) -> dict[str, Any]:
    listed = list(groups) if isinstance(groups, tuple) else groups
    return {"name": name, "groups": listed, "quorum": quorum}


def found(severity: Severity, **changes: Any) -> set[tuple[str, str]]:
    findings = examine(gate(**changes), SIZES)
    return {(item.rule, item.pointer) for item in findings if item.severity is severity}


def test_the_example_gate_has_no_finding() -> None:
    assert examine(gate(), SIZES) == ()


@pytest.mark.proves("D1")
@pytest.mark.parametrize(
    ("changes", "rule", "pointer"),
    [
        ({"qourum": 2}, "gate.member_unknown", "/qourum"),
        ({"title": 4}, "gate.text_invalid", "/title"),
        ({"stages": []}, "gate.stages_missing", "/stages"),
        ({"stages": "all"}, "gate.stages_missing", "/stages"),
        ({"stages": [stage(str(n)) for n in range(11)]}, "gate.stages_missing", "/stages"),
        ({"stages": [stage(), stage()]}, "gate.stage_twice", "/stages"),
        ({"stages": [stage("  ")]}, "gate.stage_unnamed", "/stages/0/name"),
        ({"stages": ["finance"]}, "gate.stage_unnamed", "/stages/0/name"),
        ({"stages": [{**stage(), "qourum": 2}]}, "gate.member_unknown", "/stages/0/qourum"),
        ({"stages": [stage(groups=[])]}, "gate.groups_missing", "/stages/0/groups"),
        ({"stages": [stage(groups=[{}])]}, "gate.groups_missing", "/stages/0/groups"),
        ({"stages": [stage(groups=("nobody",))]}, "gate.group_unknown", "/stages/0/groups"),
        ({"stages": [stage(quorum=0)]}, "gate.quorum_invalid", "/stages/0/quorum"),
        ({"stages": [stage(quorum=True)]}, "gate.quorum_invalid", "/stages/0/quorum"),
        ({"stages": [stage(quorum=21)]}, "gate.quorum_invalid", "/stages/0/quorum"),
        ({"stages": [stage(quorum=1.5)]}, "gate.quorum_invalid", "/stages/0/quorum"),
        ({"deny_threshold": 0}, "gate.deny_threshold_invalid", "/deny_threshold"),
        ({"expires_after_seconds": 0}, "gate.expiry_invalid", "/expires_after_seconds"),
        (
            {"expires_after_seconds": LONGEST_WAIT + 1},
            "gate.expiry_invalid",
            "/expires_after_seconds",
        ),
        ({"second_factor": "sometimes"}, "gate.factor_invalid", "/second_factor"),
        ({"second_factor": None}, "gate.factor_invalid", "/second_factor"),
        ({"reminders_after_seconds": "1h"}, "gate.reminders_invalid", "/reminders_after_seconds"),
        ({"reminders_after_seconds": [-1]}, "gate.reminders_invalid", "/reminders_after_seconds"),
        ({"escalations": "later"}, "gate.escalation_invalid", "/escalations/0"),
        ({"escalations": [{"after_seconds": 60}]}, "gate.escalation_invalid", "/escalations/0"),
        (
            {"escalations": [{"after_seconds": 60, "groups": [{}]}]},
            "gate.escalation_invalid",
            "/escalations/0",
        ),
        (
            {"escalations": [{"after_seconds": 60, "groups": ["finance"], "gruops": []}]},
            "gate.member_unknown",
            "/escalations/0/gruops",
        ),
    ],
)
def test_what_can_not_decide_is_blocked_at_its_place(
    changes: dict[str, Any], rule: str, pointer: str
) -> None:
    assert (rule, pointer) in found(Severity.BLOCK, **changes)


@pytest.mark.parametrize(
    ("changes", "rule", "pointer"),
    [
        ({"stages": [stage(quorum=3)]}, "gate.quorum_unreachable", "/stages/0/quorum"),
        ({"stages": [stage(groups=("empty",))]}, "gate.quorum_unreachable", "/stages/0/quorum"),
        (
            {"stages": [stage(groups=("finance", "finance"), quorum=3)]},
            "gate.quorum_unreachable",
            "/stages/0/quorum",
        ),
        ({"second_factor": "never"}, "gate.no_second_factor", "/second_factor"),
        (
            {"expires_after_seconds": 3600, "escalations": []},
            "gate.reminder_too_late",
            "/reminders_after_seconds",
        ),
        ({"expires_after_seconds": 28800}, "gate.escalation_too_late", "/escalations"),
        (
            {"escalations": [{"after_seconds": 60, "groups": ["nobody"]}]},
            "gate.escalation_group_unknown",
            "/escalations/0/groups",
        ),
    ],
)
def test_what_is_doubtful_has_to_be_ticked(
    changes: dict[str, Any], rule: str, pointer: str
) -> None:
    assert (rule, pointer) in found(Severity.WARN, **changes)
    assert not found(Severity.BLOCK, **changes)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**7) | st.text(max_size=8) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
_MEMBERS = st.sampled_from([*gate(), "unknown"])


@settings(max_examples=examples(300), deadline=None)
@given(st.dictionaries(_MEMBERS, _VALUES, max_size=4))
def test_the_examination_answers_whatever_a_draft_holds(changes: dict[str, Any]) -> None:
    findings = examine(gate(**changes), SIZES)
    if not any(item.severity is Severity.BLOCK for item in findings):
        assert read_terms(gate(**changes)).quorum >= 1


# --- terms ---------------------------------------------------------------------------------------
def test_a_document_without_numbers_is_read_with_the_careful_ones() -> None:
    terms = read_terms({"stages": [{"name": "finance", "groups": ["finance"]}]})
    assert (terms.quorum, terms.deny_threshold) == (1, 1)
    assert terms.expires_after_seconds == 24 * 3600
    assert terms.second_factor is FactorRule.DESTRUCTIVE


def test_what_a_request_keeps_reads_back_as_the_same_terms() -> None:
    terms = read_terms(gate(stages=[stage(quorum=2), stage("boss", ("managers",))]))
    assert read_terms(terms.as_dict()) == terms


@pytest.mark.proves("D1")
@pytest.mark.parametrize(("wanted", "quorums"), [(None, (1, 2)), (2, (1, 2)), (5, (1, 4))])
def test_policy_raises_the_quorum_of_the_last_stage_and_never_lowers_one(
    wanted: int | None, quorums: tuple[int, ...]
) -> None:
    terms = read_terms(gate(stages=[stage(), stage("boss", ("managers",), 2)]))
    raised = terms.with_quorum(wanted)
    assert tuple(item.quorum for item in raised.stages) == quorums


@pytest.mark.parametrize(
    ("rule", "destructive", "delegated"),
    [("always", True, True), ("destructive", True, False), ("never", False, False)],
)
def test_the_second_factor_is_asked_for_as_the_gate_says(
    rule: str, destructive: bool, delegated: bool
) -> None:
    terms = read_terms(gate(second_factor=rule))
    assert terms.needs_factor("destructive") is destructive
    assert terms.needs_factor("delegated") is delegated


def test_escalation_brings_groups_in_one_step_after_another_and_takes_nobody_out() -> None:
    terms = read_terms(
        gate(
            escalations=[
                {"after_seconds": 200, "groups": ["board"]},
                {"after_seconds": 100, "groups": ["managers"]},
            ]
        )
    )
    assert terms.groups_at(0, 0) == {"finance"}
    assert terms.groups_at(0, 1) == {"finance", "managers"}
    assert terms.groups_at(0, 2) == {"finance", "managers", "board"}
    assert terms.groups == {"finance", "managers", "board"}


# --- counting ------------------------------------------------------------------------------------
@pytest.fixture
def two_stages() -> GateTerms:
    return read_terms(gate(stages=[stage(quorum=2), stage("boss", ("managers",))]))


@pytest.mark.proves("D1")
@pytest.mark.parametrize(
    ("votes", "standing"),
    [
        ([], (0, 0, 0)),
        ([("approve", 0)], (0, 1, 0)),
        ([("approve", 0), ("reject", 0)], (0, 1, 1)),
        ([("approve", 0), ("approve", 0)], (1, 0, 0)),
        ([("approve", 0), ("approve", 0), ("approve", 1)], (2, 0, 0)),
        ([("approve", 1), ("approve", 1)], (0, 0, 0)),
        ([("reject", 0), ("reject", 1)], (0, 0, 2)),
    ],
)
def test_every_stage_needs_its_own_votes(
    two_stages: GateTerms, votes: list[tuple[str, int]], standing: tuple[int, int, int]
) -> None:
    assert tally(two_stages, votes) == standing
