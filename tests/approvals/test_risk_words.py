"""The sentences about risk: each from its fact, heaviest first, nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from approvals.figures import Figures
from approvals.risk_words import RiskFacts, risk_words

HOURS = "(Monday to Friday, 07:00 to 19:00 UTC)"
TUESDAY_NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def _said(**facts: Any) -> list[str]:
    usual: dict[str, Any] = {
        "mode": "network",
        "reversible": True,
        "asked_at": TUESDAY_NOON,
        "amount": Decimal("100"),
        "unit": "INR",
        "largest_approved": Decimal("500"),
        "asked_before_by_agent": 4,
        "asked_before_by_anyone": 9,
    }
    sentences = risk_words(RiskFacts(**{**usual, **facts}), Figures().amount)
    return [f"{sentence.weight}: {sentence.text}" for sentence in sentences]


def test_a_usual_call_gets_no_heavy_sentence() -> None:
    assert _said() == [
        "medium: This call reaches a system outside.",
        "low: It can be reversed: its answer carries a reversal token.",
        "low: 100 INR is within what was approved here before (up to 500 INR).",
    ]


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"mode": "destructive"}, "high: This is a destructive call, the riskiest kind there is."),
        ({"mode": "nonsense"}, "high: Its mode is not known, so treat it as destructive."),
        ({"reversible": False}, "high: It can't be taken back once it ran."),
        (
            {"amount": Decimal("501")},
            "high: 501 INR is more than was ever approved here (at most 500 INR).",
        ),
        (
            {"largest_approved": None},
            "medium: It is about 100 INR; none was approved before to compare with.",
        ),
        (
            {"asked_before_by_anyone": 0, "asked_before_by_agent": 0},
            "high: Nobody has asked for this capability here before.",
        ),
        (
            {"asked_before_by_agent": 0},
            "medium: This agent asks for this capability for the first time.",
        ),
        ({"rejected_before": (2, 5)}, "medium: Of 5 asked for before, 2 were rejected."),
        ({"rejected_before": (1, 5)}, "medium: Of 5 asked for before, 1 was rejected."),
        (
            {"alike_waiting": 3},
            "high: The very same ask waits 3 times: is it meant that often?",
        ),
        (
            {"on_behalf_of_person": False},
            "medium: The agent asks in its own name; no person stands behind it.",
        ),
        (
            {"asked_at": datetime(2026, 3, 8, 2, 14, tzinfo=UTC)},
            f"medium: It was asked for on Sunday at 02:14 UTC, outside office hours {HOURS}.",
        ),
    ],
)
def test_each_fact_has_its_sentence(facts: dict[str, Any], sentence: str) -> None:
    assert sentence in _said(**facts)
    assert sentence not in _said()


def test_the_heaviest_stand_first() -> None:
    weights = [line.split(":")[0] for line in _said(mode="destructive", reversible=False)]
    assert weights == sorted(weights, key=["high", "medium", "low"].index)
