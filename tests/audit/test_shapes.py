"""Texts of a known shape are read without a parser, and never differently from one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from audit.decision_record import as_record, derived_mentions, derived_texts
from audit.event_record import hashed_text
from audit.verifying.shapes import MOST_OF_A_LENGTH, MOST_SHAPES, NO_RECORD, Seen, Shapes
from contextos.core.ids import new_id
from tests.audit.logs import TENANT, facts

pytestmark = pytest.mark.proves("E2")
APPROVALS = [{"gate": "GATE_ONE", "votes": [{"approver": "user_9", "verdict": "approve"}]}]


def text(**more: Any) -> bytes:
    given = {"run_id": new_id("run"), "trace_id": "0" * 32, "approvals": APPROVALS} | more
    return hashed_text(as_record(facts(**given))).encode()


def shapes() -> Shapes:
    return Shapes(TENANT, derived_texts, derived_mentions)


def parsed(content: bytes) -> Seen | None:
    """As somebody reads it who has seen no text before."""
    return said(shapes(), content)


def said(reader: Shapes, content: bytes) -> Seen | None:
    try:
        return reader.read(content)
    except NO_RECORD:
        return None


def test_a_second_text_of_a_shape_is_read_without_a_parser(monkeypatch: Any) -> None:
    reader, other = shapes(), text(decision_id=new_id("dec"))
    expected = parsed(other)
    reader.read(text())
    monkeypatch.setattr("audit.verifying.shapes.orjson", None)
    assert reader.read(other) == expected
    assert expected is not None
    assert ("approver", "user_9") in expected.mentions


def test_other_values_are_never_taken_for_those_that_were_seen() -> None:
    reader = shapes()
    others: tuple[dict[str, Any], ...] = (
        {},
        {"seq": 2},
        {"tenant_id": "tenant_two"},
        {"intent": "other.refund_"},
        {"run_id": 'run_"quoted'},
        {"run_id": "run_100%b%s"},
        {"run_id": "#~000~#"},
        {"run_id": None},
        {"trace_id": "\u202eé\x1f\\"},
        {"evidence_refs": ["ev_1"]},
        {"error": {"code": "x", "record_hash": "sha256:" + "0" * 64}},
        {"policy_decision": {"matched_rule_ids": ["rule_1"], "inputs_hash": "#"}},
    )
    for more in others:
        for _ in range(3):
            content = text(**more)
            assert said(reader, content) == parsed(content)


def test_whatever_is_done_to_a_text_is_read_as_a_parser_reads_it() -> None:
    reader, chance = shapes(), random.Random(20261118)
    original = text()
    reader.read(original)
    known = {length: list(each) for length, each in reader.known.items()}
    for _ in range(1500):
        at = chance.randrange(len(original))
        byte = chance.choice([chance.randrange(256), *b'"\\,:{}[]0az'])
        content = original[:at] + bytes([byte]) + original[at + 1 :]
        reader.known = {length: list(each) for length, each in known.items()}
        assert said(reader, content) == parsed(content), (at, byte)


def test_a_log_in_which_every_text_is_different_fills_no_memory() -> None:
    reader = shapes()
    for number in range(3 * MOST_SHAPES):
        content = text(intent="x" * (number % 150), session_id=None if number % 2 else "ses")
        assert said(reader, content) == parsed(content)
    assert reader.count <= MOST_SHAPES
    assert max(len(each) for each in reader.known.values()) <= MOST_OF_A_LENGTH
