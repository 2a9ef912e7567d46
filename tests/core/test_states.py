"""Transition tables: they refuse wrong steps, and refuse to exist with a mistake in them."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.errors import ContextOSError, http_status
from contextos.core.states import TransitionTable

APPROVAL = TransitionTable(
    "approval",
    initial="pending",
    transitions={"pending": {"approved", "rejected"}, "approved": {"consumed", "voided"}},
    terminal={"rejected", "consumed", "voided"},
)
STATES = st.sampled_from([*sorted(APPROVAL.states), "nonsense"])


@given(STATES, STATES)
def test_a_step_is_taken_if_and_only_if_the_table_has_it(source: str, target: str) -> None:
    expected = target in APPROVAL.transitions.get(source, ())
    assert APPROVAL.allows(source, target) is expected
    assert (source in APPROVAL.sources_of(target)) is expected
    if expected:
        APPROVAL.check(source, target)
        return
    with pytest.raises(ContextOSError):
        APPROVAL.check(source, target)


@given(st.lists(STATES, max_size=20))
def test_no_walk_ever_leaves_a_terminal_state(wishes: list[str]) -> None:
    state = APPROVAL.initial
    for wish in wishes:
        was_terminal = APPROVAL.is_terminal(state)
        moved = APPROVAL.allows(state, wish)
        assert not (was_terminal and moved)
        state = wish if moved else state
    assert state in APPROVAL.states


def test_a_refusal_names_both_states_and_what_is_possible() -> None:
    with pytest.raises(ContextOSError) as caught:
        APPROVAL.check("approved", "pending")
    assert caught.value.code == "state.transition_refused"
    assert http_status(caught.value) == 409
    assert caught.value.message == (
        "approval can't go from approved to pending; possible now: consumed, voided."
    )
    assert caught.value.data["possible"] == ["consumed", "voided"]


def test_a_refusal_from_a_terminal_state_says_that_it_is_final() -> None:
    with pytest.raises(ContextOSError, match="final"):
        APPROVAL.check("rejected", "approved")


def test_the_database_constraint_lists_every_state_in_stable_order() -> None:
    assert APPROVAL.check_constraint_values() == (
        "approved",
        "consumed",
        "pending",
        "rejected",
        "voided",
    )


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"initial": "a", "transitions": {"a": ["b"]}, "terminal": []}, "without a row"),
        ({"initial": "x", "transitions": {"a": ["b"]}, "terminal": ["b"]}, "without a row"),
        (
            {"initial": "a", "transitions": {"a": ["b"], "b": ["a"]}, "terminal": ["b"]},
            "terminal states with exits",
        ),
        (
            {"initial": "a", "transitions": {"a": ["b"], "b": []}, "terminal": []},
            "dead ends not declared terminal",
        ),
        (
            {"initial": "a", "transitions": {"a": ["b"], "c": ["b"]}, "terminal": ["b"]},
            "unreachable states",
        ),
    ],
)
def test_a_table_with_a_mistake_is_refused_at_import(
    table: Mapping[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        TransitionTable("thing", **table)
