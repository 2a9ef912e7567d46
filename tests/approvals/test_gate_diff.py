"""What a new version of a gate changes: nothing that opens it wider goes unmarked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from approvals.dry_run import Outcome, PastRequest, PastVote, replay
from approvals.gate_diff import Direction, GateChange, compare_gates
from approvals.gates import read_terms
from tests.approvals.test_gates import gate, stage
from tests.depth import examples

WIDENS, NARROWS, NEUTRAL = Direction.WIDENS, Direction.NARROWS, Direction.NEUTRAL
TWO = [stage(), stage("boss", ("managers",), 2)]


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[GateChange]:
    return list(compare_gates(gate(**old), gate(**new)))


@pytest.mark.proves("D1")
@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ({"stages": TWO}, {"stages": TWO[:1]}, "/stages"),
        (
            {"stages": TWO},
            {"stages": [TWO[0], stage("boss", ("managers",), 1)]},
            "/stages/1/quorum",
        ),
        ({}, {"stages": [stage(groups=("finance", "managers"))]}, "/stages/0/groups"),
        ({}, {"stages": [stage(groups=("managers",))]}, "/stages/0/groups"),
        ({}, {"deny_threshold": 2}, "/deny_threshold"),
        ({}, {"expires_after_seconds": 90000}, "/expires_after_seconds"),
        ({}, {"second_factor": "never"}, "/second_factor"),
        ({"second_factor": "always"}, {"second_factor": "destructive"}, "/second_factor"),
        (
            {"escalations": []},
            {"escalations": [{"after_seconds": 9, "groups": ["a"]}]},
            "/escalations",
        ),
        ({}, {"escalations": [{"after_seconds": 60, "groups": ["finance"]}]}, "/escalations"),
    ],
)
def test_what_lets_more_through_widens_and_the_way_back_narrows(
    old: dict[str, Any], new: dict[str, Any], pointer: str
) -> None:
    there, back = changes(old, new), changes(new, old)
    assert [(item.direction, item.pointer) for item in there] == [(WIDENS, pointer)]
    # Who votes is never only narrowed: with a yes, a no is taken away too.
    way_back = WIDENS if pointer.endswith(("/groups", "/escalations")) else NARROWS
    assert {item.direction for item in back} == {way_back}


def test_a_group_that_goes_takes_its_no_along() -> None:
    (found,) = changes({"stages": [stage(groups=("finance", "managers"))]}, {"stages": [stage()]})
    assert (found.direction, found.title) == (WIDENS, "Stage finance: fewer groups")
    assert found.why == "People of managers can't say no here any more."


@pytest.mark.parametrize(
    ("new", "pointer"),
    [
        ({"title": "Money"}, "/title"),
        ({"description": ""}, "/description"),
        ({"owner_role": "treasury"}, "/owner_role"),
        ({"reminders_after_seconds": [60]}, "/reminders_after_seconds"),
        ({"stages": [stage("money")]}, "/stages/0/name"),
    ],
)
def test_what_changes_no_decision_is_neutral(new: dict[str, Any], pointer: str) -> None:
    assert [(c.direction, c.pointer) for c in changes({}, new)] == [(NEUTRAL, pointer)]


def test_another_order_of_the_stages_is_said_and_neutral() -> None:
    found = changes({"stages": TWO}, {"stages": TWO[::-1]})
    assert [(item.direction, item.title) for item in found] == [
        (NEUTRAL, "The stages come in another order")
    ]


def test_a_renamed_stage_hides_no_smaller_quorum() -> None:
    found = changes({"stages": [stage(quorum=2)]}, {"stages": [stage("money", quorum=1)]})
    assert (WIDENS, "/stages/0/quorum") in {(item.direction, item.pointer) for item in found}


def test_widenings_stand_first_and_equal_gates_have_no_change() -> None:
    found = changes({}, {"title": "x", "expires_after_seconds": 60, "second_factor": "never"})
    assert [item.direction for item in found] == [WIDENS, NARROWS, NEUTRAL]
    assert compare_gates(gate(), gate(version="2.0.0")) == ()


def test_a_first_version_is_compared_with_nothing() -> None:
    assert compare_gates(None, gate()) == ()


# --- the property --------------------------------------------------------------------------------
_GROUPS = ("a", "b", "c")
_START = datetime(2026, 1, 1, tzinfo=UTC)


@st.composite
def _documents(draw: st.DrawFn) -> dict[str, Any]:
    """Stages share no group, so that the order of votes decides nothing."""
    owners = draw(st.lists(st.sampled_from(["x", "y", None]), min_size=3, max_size=3))
    names = draw(st.permutations([name for name in ("x", "y") if name in owners] or ["x"]))
    stages = [
        stage(
            name,
            tuple(g for g, owner in zip(_GROUPS, owners, strict=True) if owner == name) or ("a",),
            draw(st.integers(1, 3)),
        )
        for name in names
    ]
    return gate(
        stages=stages,
        deny_threshold=draw(st.integers(1, 2)),
        expires_after_seconds=draw(st.sampled_from([100, 200, 400])),
        second_factor=draw(st.sampled_from(["always", "destructive", "never"])),
        escalations=[],
    )


_CHANGED = ("stages", "deny_threshold", "expires_after_seconds")
_VOTES = st.lists(
    st.tuples(
        st.sampled_from(_GROUPS), st.sampled_from(["approve", "reject"]), st.integers(0, 450)
    ),
    max_size=7,
)


@pytest.mark.proves("D1")
@settings(max_examples=examples(1500), deadline=None)
@given(_documents(), _documents(), st.sampled_from(_CHANGED), _VOTES)
@example(
    gate(stages=[stage("x", ("a", "b"), 1)], deny_threshold=1),
    gate(stages=[stage("x", ("b",), 1)], deny_threshold=1),
    "stages",
    [("a", "reject", 0), ("b", "approve", 0)],
)
def test_votes_that_pass_only_the_new_gate_mean_that_a_widening_is_marked(
    old: dict[str, Any], other: dict[str, Any], changed: str, cast: list[tuple[str, str, int]]
) -> None:
    new = {**old, changed: other[changed]}  # one change at a time: no other widening can cover it
    votes = tuple(
        PastVote(f"p{n}", verdict, _START + timedelta(seconds=at), frozenset({group}))
        for n, (group, verdict, at) in enumerate(cast)
    )
    request = PastRequest("apr_1", _START, Outcome.SHORT, votes)
    passed = [replay(request, read_terms(doc)).outcome is Outcome.APPROVED for doc in (old, new)]
    if passed == [False, True]:
        assert any(change.direction is WIDENS for change in compare_gates(old, new))
