"""Argument constraints: inclusive bounds, types, paths, patterns, and how they combine."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.policy.constraints import (
    check_args,
    constraint_problems,
    contradictions,
    is_satisfied,
    merge,
    same_json,
    unsafe_integer,
)


def broken(value: Any, **constraint: Any) -> list[str]:
    return [item.keyword for item in check_args({"x": value}, {"x": constraint})]


@pytest.mark.proves("C3")
@pytest.mark.parametrize(
    ("value", "constraint", "expected"),
    [
        (1, {"min": 1}, []),
        (0.999, {"min": 1}, ["min"]),
        (50000, {"max": 50000}, []),
        (50000.0, {"max": 50000}, []),
        (50000.01, {"max": 50000}, ["max"]),
        (0.1 + 0.2, {"max": 0.3}, ["max"]),
        ("5", {"min": 1}, ["min"]),
        (True, {"min": 0}, ["min"]),
        (None, {"max": 5}, ["max"]),
        ([5], {"max": 5}, ["max"]),
        (float("inf"), {"max": 5}, ["max"]),
        (2**53, {"min": 1}, ["min"]),
        (-(2**53), {"max": 1}, ["max"]),
        (2**53 - 1, {"min": 1}, []),
        ("INR", {"enum": ["INR"]}, []),
        ("inr", {"enum": ["INR"]}, ["enum"]),
        ("INR ", {"enum": ["INR"]}, ["enum"]),
        (1, {"enum": [True]}, ["enum"]),
        (True, {"enum": [1]}, ["enum"]),
        (False, {"enum": [0, ""]}, ["enum"]),
        (1.0, {"enum": [1]}, []),
        (None, {"enum": [None]}, []),
        ({"a": [1]}, {"enum": [{"a": [1.0]}]}, []),
        ("ik_abc", {"pattern": "^ik_[a-z]+$"}, []),
        ("ik_abc\n", {"pattern": "^ik_[a-z]+$"}, ["pattern"]),
        ("xxik_abc", {"pattern": "ik_"}, []),
        ("IK_abc", {"pattern": "ik_"}, ["pattern"]),
        (5, {"pattern": "5"}, ["pattern"]),
        (None, {"pattern": "."}, ["pattern"]),
        ("ab", {"pattern": ["a", "b"]}, []),
        ("a", {"pattern": ["a", "b"]}, ["pattern"]),
        ("a", {"pattern": "(?=a)"}, ["pattern"]),
        ("a", {"pattern": "("}, ["pattern"]),
        ("a", {"pattern": 5}, ["pattern"]),
        (5, {"min": "1"}, ["min"]),
        (5, {"max": None}, ["max"]),
        (5, {"enum": 5}, ["enum"]),
        (5, {"required": "yes"}, ["required"]),
        (5, {"required": True}, []),
        (5, {"required": False}, []),
        (5, {}, []),
        (5, {"unknown": 1}, []),
        (60000, {"min": 1, "max": 50000, "enum": [1]}, ["max", "enum"]),
    ],
)
def test_a_value_and_its_constraint(
    value: Any, constraint: dict[str, Any], expected: list[str]
) -> None:
    assert broken(value, **constraint) == expected


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ({"required": True}, ["required"]),
        ({"required": True, "min": 1}, ["required"]),
        ({"required": False, "min": 1}, []),
        ({"min": 1, "max": 2, "enum": [1], "pattern": "a"}, []),
        ({"required": "yes"}, ["required"]),
        ("not an object", ["constraint"]),
        (None, ["constraint"]),
    ],
)
def test_an_absent_argument_breaks_only_required(constraint: Any, expected: list[str]) -> None:
    assert [item.keyword for item in check_args({}, {"x": constraint})] == expected


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", True),
        ("b.c", True),
        ("b.d.0", True),
        ("b.d.1.e", True),
        ("dotted.name", True),
        ("b.d.2", False),
        ("b.d.-1", False),
        ("b.d.x", False),
        ("b.c.x", False),
        ("B.c", False),
        ("", False),
        ("b.", False),
        (".b", False),
        ("b..c", False),
        ("b.d.٠", False),
    ],
)
def test_paths_lead_into_the_arguments(path: str, found: bool) -> None:
    args = {"a": 1, "b": {"c": 2, "d": [3, {"e": 4}]}, "dotted.name": 5}
    assert (check_args(args, {path: {"required": True}}) == ()) is found


def test_a_member_of_that_very_name_comes_before_the_path() -> None:
    args = {"a.b": 1, "a": {"b": 100}}
    assert check_args(args, {"a.b": {"max": 10}}) == ()


def test_a_policy_bound_is_kept_only_by_an_argument_that_is_there() -> None:
    assert is_satisfied({"amount": 5}, {"amount": {"max": 5}})
    assert not is_satisfied({}, {"amount": {"max": 5}})
    assert not is_satisfied({"amount": 5}, {"amount": {"max": 5}, "currency": {"enum": ["INR"]}})


def test_messages_can_leave_out_values() -> None:
    (shown,) = check_args({"card": "4111"}, {"card": {"enum": ["x"]}})
    (masked,) = check_args({"card": "4111"}, {"card": {"enum": ["x"]}}, mask=True)
    assert "4111" in shown.message
    assert "4111" not in masked.message


def test_a_pattern_that_would_backtrack_forever_answers_at_once() -> None:
    started = time.perf_counter()
    assert broken("a" * 50_000 + "!", pattern="^(a+)+$") == ["pattern"]
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"a": [1, {"b": 2**53}]}, "/a/1/b"),
        ({"a": -(2**53)}, "/a"),
        ({"a": 2**53 - 1, "b": 1e300, "c": True}, None),
        ({"a": 2.0**60}, None),
    ],
)
def test_integers_beyond_2_to_the_53_are_found(value: Any, pointer: str | None) -> None:
    assert unsafe_integer(value) == pointer


# -- combining -----------------------------------------------------------------------------------


def test_the_tightest_of_several_constraints_holds() -> None:
    merged = merge(
        [
            {"x": {"min": 1, "max": 100, "enum": ["a", "b", "c"]}, "y": {"pattern": "^a"}},
            {"x": {"min": 5, "enum": ["c", "b"], "required": True}, "y": {"pattern": "b$"}},
            {"x": {"max": 50, "required": False}, "y": {"pattern": "^a"}},
        ]
    )
    assert merged == {
        "x": {"min": 5, "max": 50, "enum": ["b", "c"], "required": True},
        "y": {"pattern": ["^a", "b$"]},
    }


def test_constraints_that_nothing_can_satisfy_are_named() -> None:
    assert contradictions({"a": {"min": 5, "max": 4}, "b": {"min": 4, "max": 4}}) == ("a",)
    assert contradictions({"a": {"enum": []}}) == ("a",)
    assert contradictions({"a": {"enum": [1, 2], "min": 3}}) == ("a",)
    assert contradictions({"a": {"enum": [1, 3], "min": 3}}) == ()


def test_unusable_patterns_and_empty_bounds_stop_publication() -> None:
    found = constraint_problems(
        {"a/b": {"pattern": "(?<=x)"}, "c": {"min": 2, "max": 1}, "d": {"max": 1}}, "/then"
    )
    assert [problem.pointer for problem in found] == ["/then/a~1b/pattern", "/then/c"]


numbers = st.integers(-20, 20) | st.floats(-20, 20)
constraints = st.fixed_dictionaries(
    {},
    optional={
        "min": numbers,
        "max": numbers,
        "enum": st.lists(numbers, min_size=1, max_size=4),
        "required": st.booleans(),
    },
)


@given(st.lists(constraints, max_size=4), numbers)
def test_merged_constraints_refuse_exactly_what_any_of_them_refuses(
    several: list[dict[str, Any]], value: float
) -> None:
    merged = merge({"x": constraint} for constraint in several)
    together = check_args({"x": value}, merged)
    apart = [check_args({"x": value}, {"x": constraint}) for constraint in several]
    assert bool(together) == any(apart)
    if together == ():
        assert contradictions(merged) == ()


@given(st.lists(constraints, max_size=4))
def test_the_order_of_merging_does_not_matter_to_the_verdict(several: list[dict[str, Any]]) -> None:
    forward = merge({"x": constraint} for constraint in several)
    backward = merge({"x": constraint} for constraint in reversed(several))
    assert bool(contradictions(forward)) == bool(contradictions(backward))


@given(st.recursive(st.none() | st.booleans() | numbers | st.text(max_size=3), st.lists))
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    assert same_json(value, value)
