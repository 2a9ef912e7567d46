"""The five plain forms of a skill's conditions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.errors import ContextOSError
from registry.preconditions import compile_precondition, holds, logic_of

FACTS: dict[str, Any] = {
    "run": {"intent": "support.refund", "context": {"tier": "gold"}, "role": "agent"},
    "request": {
        "args": {"amount": 5, "text": "5", "flag": True, "nothing": None},
        "context": {"customer_id": "cus_1", "nested": {"deep": {"er": "x y and z"}}, "empty": ""},
    },
    "evidence": {"refs": ["ev_1", "idv.verified"], "keys": ["order_lookup"]},
    "user": {"roles": ["a", "b c"]},
}

pytestmark = pytest.mark.proves("B13")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("request.context.customer_id is present", True),
        ("request.context.customer is present", False),
        ("request.context.empty is present", True),
        ("request.args.nothing is present", False),
        ("request.args.nothing is absent", True),
        ("request.context.customer_id is absent", False),
        ("request.context.nested.deep.er is present", True),
        ("request.context.nested.deep.other is absent", True),
        ("request.context.customer_id.more is absent", True),
        ("run_context.intent == support.refund", True),
        ("run_context.intent == 'support.refund'", True),
        ('run_context.intent == "support.refund"', True),
        ("run_context.intent == support.refunds", False),
        ("run_context.intent == Support.refund", False),
        ("run_context.intent != support.exchange", True),
        ("run_context.intent != support.refund", False),
        ("run_context.context.tier == gold", True),
        ("run.intent == support.refund", True),
        ("run_context.absent != anything", True),
        ("run_context.absent == anything", False),
        ("request.args.amount == 5", True),
        ("request.args.amount == 5.0", True),
        ('request.args.amount == "5"', False),
        ("request.args.text == 5", False),
        ("request.args.text == '5'", True),
        ("request.args.flag == true", True),
        ("request.args.flag == 'true'", False),
        ("request.args.flag == True", False),
        ("request.args.nothing == null", True),
        ("request.context.nested.deep.er == 'x y and z'", True),
        ("evidence_refs includes order_lookup", True),
        ("evidence_refs includes idv.verified", True),
        ("evidence_refs includes 'ev_1'", True),
        ("evidence_refs includes ev", False),
        ("evidence_refs includes EV_1", False),
        ("evidence.refs includes ev_1", True),
        ("user.roles includes a", True),
        ('user.roles includes "b c"', True),
        ("user.roles includes b", False),
        ("request.context.customer_id includes cus", False),
        ("request.context.missing includes x", False),
        ("request.args.amount == 5 and run_context.role == agent", True),
        ("request.args.amount == 5 and run_context.role == lead", False),
        ("request.args.amount == 6 and run_context.role == agent", False),
        ("user.roles includes a and user.roles includes 'b c' and request.args.amount != 6", True),
        ("  request.args.amount   ==   5  ", True),
        ('request.args.text != "say \\"5\\""', True),
    ],
)
def test_a_condition_is_evaluated(text: str, expected: bool) -> None:
    assert holds(text, FACTS) is expected
    compile_precondition(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "and",
        "customer is nice",
        "request.context.customer_id",
        "request.context.customer_id is",
        "request.context.customer_id is here",
        "request.context.customer_id is 'present'",
        "request.context.customer_id equals x",
        "request.context.customer_id = x",
        "request.context.customer_id == x y",
        "request.context.customer_id == x or request.args.amount == 5",
        "request.context.customer_id == x and",
        "and request.context.customer_id == x",
        "request.context.customer_id == x and and request.args.amount == 5",
        "request.context.customer_id == 'open",
        "request.context.customer_id == 'a'b",
        "'request.context.customer_id' == a",
        "request.context..customer_id is present",
        "request.context. is present",
        ".request is present",
        "secrets.key is present",
        "request.headers.cookie is present",
        "run_context is present",
        "user is present",
        "request.context.customer_id==x",
        "request.context.x is present; request.args.amount == 5",
        "x" * 3000,
    ],
)
def test_what_is_not_one_of_the_forms_is_refused_and_never_holds(text: str) -> None:
    with pytest.raises(ContextOSError) as refused:
        logic_of(text)
    assert refused.value.code == "precondition.invalid"
    assert holds(text, FACTS) is False


@given(st.text(max_size=60))
def test_any_text_is_refused_or_decided(text: str) -> None:
    assert holds(text, FACTS) in (True, False)
    assert holds(f"request.context.customer_id == {text}", FACTS) in (True, False)


@given(st.text(st.characters(exclude_characters="'", codec="utf-8"), max_size=20))
def test_a_quoted_value_means_exactly_itself(value: str) -> None:
    if any(mark in value for mark in "0123456789"):
        return  # the logic compares moments and spans of time by value
    facts = {"request": {"context": {"v": value}}}
    assert holds(f"request.context.v == '{value}'", facts)
    assert not holds(f"request.context.v == '{value}x'", facts)
