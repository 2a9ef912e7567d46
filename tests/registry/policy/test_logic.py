"""The policy language: what may be written, what it may read, and what it comes to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.policy.logic import (
    MAX_DEPTH,
    MAX_NODES,
    LogicError,
    check_logic,
    compile_condition,
    read_facts,
)

FACTS = {
    "user": {"role": "agent", "suspended": False},
    "agent": {"agent_id": "a1"},
    "run": {"intent": "support.refund", "flags": ["taint"], "secret": "in the run"},
    "request": {
        "args": {"amount": 4200, "text": "12", "items": [{"n": 1}, {"n": 2}]},
        "context": {},
    },
    "capability": {"approval_mode": "destructive"},
    "evidence": {"refs": ["ev_1"]},
    "time": {"hour": 9},
    "hidden": {"root": True},
}


def holds(logic: Any) -> bool:
    assert check_logic(logic) == ()
    return compile_condition(logic).holds(read_facts(FACTS))


@pytest.mark.proves("C4")
@pytest.mark.parametrize(
    "path",
    [
        "user.role",
        "agent.agent_id",
        "run.intent",
        "request.args.amount",
        "request.context.x",
        "capability.approval_mode",
        "evidence.refs",
        "time.hour",
        "request.args.items.0.n",
    ],
)
def test_every_named_root_can_be_read(path: str) -> None:
    assert check_logic({"!=": [{"var": path}, "impossible"]}) == ()
    assert check_logic({"missing": [path]}) == ()
    assert check_logic({"missing_some": [1, [path]]}) == ()


@pytest.mark.parametrize(
    "logic",
    [
        {"var": "hidden.root"},
        {"var": ""},
        {"var": []},
        {"var": None},
        {"var": 0},
        {"var": "user"},
        {"var": "user."},
        {"var": "user..role"},
        {"var": "users.role"},
        {"var": "request.headers.cookie"},
        {"var": "request.args"},
        {"var": "request"},
        {"var": {"cat": ["hidden", ".root"]}},
        {"var": [{"cat": ["user", ".role"]}]},
        {"var": {"if": [True, "hidden.root", "user.role"]}},
        {"var": ["user.role", {"var": "hidden.root"}]},
        {"var": [["user.role"]]},
        {"missing": ["hidden.root"]},
        {"missing": {"var": "user.names"}},
        {"missing": [{"var": "user.name"}]},
        {"missing_some": [1, ["hidden.root"]]},
        {"missing_some": [1, {"var": "user.names"}]},
        {"missing_some": ["user.name"]},
        {"if": [True, True, {"var": "hidden.root"}]},
        {"some": [{"var": "hidden"}, True]},
        {"some": [{"var": "user.roles"}, {"var": {"cat": ["a"]}}]},
        {"reduce": [{"var": "run.flags"}, True, {"var": "hidden.root"}]},
    ],
)
def test_nothing_else_can_be_read_nor_a_computed_name(logic: Any) -> None:
    assert check_logic(logic) != ()


def test_an_item_of_a_list_is_read_by_its_own_names_and_never_reaches_the_inputs() -> None:
    assert holds({"some": [{"var": "request.args.items"}, {"==": [{"var": "n"}, 2]}]})
    assert holds({"all": [{"var": "run.flags"}, {"==": [{"var": ""}, "taint"]}]})
    assert not holds({"some": [{"var": "run.flags"}, {"==": [{"var": "user.role"}, "agent"]}]})


@pytest.mark.parametrize(
    "operator",
    ["now", "val", "log", "throw", "try", "exists", "??", "switch", "match", "type", "datetime",
     "timestamp", "parse_date", "format_date", "split", "sort", "slice", "group_by", "distinct",
     "keys", "values", "entries", "tensor", "zeros", "fractional", "sem_ver", "bogus", "", "VAR"],
)  # fmt: skip
def test_operators_that_are_not_listed_are_refused(operator: str) -> None:
    problems = check_logic({"and": [True, {operator: [1, 2]}]})
    assert [problem.pointer for problem in problems] == [f"/and/1/{operator}"]


@pytest.mark.parametrize("logic", [None, "true", 1, [], [True], {}, {"==": [1, 1], "!=": [1, 2]}])
def test_a_condition_is_one_operation_or_a_boolean(logic: Any) -> None:
    assert check_logic(logic) != ()


@pytest.mark.parametrize("logic", [{"==": [1]}, {"<": [1]}, {"some": [1]}, {"in": ["a"]}])
def test_operators_with_too_few_arguments_are_refused_before_publication(logic: Any) -> None:
    assert check_logic(logic) != ()


def test_depth_size_and_text_are_bounded() -> None:
    deep: Any = True
    for _ in range(5000):
        deep = {"!": [deep]}
    assert "deeper" in check_logic(deep)[0].message
    assert "parts" in check_logic({"and": [True] * (MAX_NODES + 1)})[0].message
    assert "longer" in check_logic({"==": ["x" * 5000, 1]})[0].message
    allowed: Any = True
    for _ in range((MAX_DEPTH - 1) // 2):
        allowed = {"!": [allowed]}
    assert check_logic(allowed) == ()


@pytest.mark.parametrize(
    ("logic", "expected"),
    [
        ({"==": [{"var": "request.args.amount"}, 4200]}, True),
        ({"==": [{"var": "request.args.amount"}, 4200.0]}, True),
        ({"==": [{"var": "request.args.missing"}, 0]}, False),
        ({"==": [{"var": "request.args.missing"}, False]}, False),
        ({"==": [{"var": "request.args.missing"}, ""]}, False),
        ({"==": [{"var": "request.args.text"}, 12]}, False),
        ({"!=": [{"var": "request.args.text"}, 12]}, True),
        ({"==": [True, 1]}, False),
        ({"==": [{"var": "user.suspended"}, False]}, True),
        ({"<": [{"var": "request.args.missing"}, 500]}, False),
        ({">=": [{"var": "request.args.missing"}, 0]}, False),
        ({"<=": [{"var": "request.args.amount"}, 4200]}, True),
        ({"<": [{"var": "request.args.amount"}, 4200]}, False),
        ({"!": [{"missing": ["request.args.amount"]}]}, True),
        ({"!": [{"missing": ["request.args.nothing"]}]}, False),
        ({"in": ["taint", {"var": "run.flags"}]}, True),
        ({"in": ["tain", {"var": "run.flags"}]}, False),
        ({"in": ["x", {"var": "run.nothing"}]}, False),
        ({"and": [{"var": "request.context.vip"}, True]}, False),
        ({"or": [{"var": "user.suspended"}, {"var": "request.context.vip"}]}, False),
        ({"var": "user.suspended"}, False),
        (True, True),
        (False, False),
    ],
)
def test_comparisons_are_typed_and_null_is_nothing(logic: Any, expected: bool) -> None:
    assert holds(logic) is expected


@pytest.mark.parametrize(
    "logic",
    [
        {"var": "user.role"},
        {"var": "request.args.amount"},
        {"var": "run.flags"},
        {"and": [True, "yes"]},
        {"or": [0, 1]},
        {"if": [True, "yes", "no"]},
        {"+": [1, 2]},
        {"<": [{"var": "run.flags"}, 1]},
        {"/": [1, 0]},
        {"<": ["abc", 5]},
    ],
)
def test_a_result_that_is_neither_true_false_nor_null_is_an_error(logic: Any) -> None:
    with pytest.raises(LogicError):
        holds(logic)


def test_a_condition_that_would_work_forever_is_stopped() -> None:
    logic = {"reduce": [{"var": "run.flags"}, {"cat": [{"var": "accumulator"}] * 2}, "x" * 100]}
    assert check_logic(logic) == ()
    facts = read_facts({"run": {"flags": list(range(60))}})
    with pytest.raises(LogicError):
        compile_condition(logic).holds(facts)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.floats(allow_nan=False)
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["var", "==", "and", "some", "missing", "missing_some", "x", "if", "+"]
            ),
            inner,
            max_size=2,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_document_is_either_refused_or_decided(logic: Any) -> None:
    if check_logic(logic):
        return
    try:
        assert compile_condition(logic).holds(read_facts(FACTS)) in (True, False)
    except LogicError:
        return
