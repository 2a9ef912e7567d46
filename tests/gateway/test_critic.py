"""Verdicts on results: what the caller should do next, and why (C20)."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.critic import Verdict, has_evidence, score_failure, score_output, score_unknown


def _error(kind: str, *, retryable: bool = False) -> dict[str, Any]:
    return {"kind": kind, "code": "x.y", "message": "It went wrong.", "retryable": retryable}


@pytest.mark.proves("C20")
def test_a_result_with_its_evidence_is_accepted() -> None:
    score = score_output({"refund_id": "r1", "status": "ok"}, evidence_keys=["refund_id"])
    assert score.as_dict() == {"verdict": "accept", "findings": []}


@pytest.mark.proves("C20")
def test_missing_evidence_calls_a_person_and_names_each_key() -> None:
    score = score_output({"refund_id": None}, evidence_keys=["refund_id", "reversal_token"])
    assert score.verdict is Verdict.ESCALATE
    assert [f.message for f in score.findings] == [
        "The result carries no value for refund_id.",
        "The result carries no value for reversal_token.",
    ]


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("a", True),
        ("b.c", True),
        ("/b/c", True),
        ("d.0.e", True),
        ("b.x", False),
        ("nothing", False),
        ("d.9.e", False),
        ("dotted.name", True),
        ("zero", True),
    ],
)
def test_evidence_is_found_by_name_path_and_pointer(key: str, found: bool) -> None:
    output = {"a": "1", "b": {"c": False}, "d": [{"e": 2}], "dotted.name": 1, "zero": 0}
    assert has_evidence(output, key) is found


@pytest.mark.parametrize("output", [None, "text", 3, [], [[]]])
def test_results_of_any_shape_are_judged_without_a_crash(output: Any) -> None:
    assert score_output(output, evidence_keys=["a.b"]).verdict is Verdict.ESCALATE
    assert score_output(output, evidence_keys=[]).verdict is Verdict.ACCEPT


@pytest.mark.parametrize(
    ("error", "left", "verdict"),
    [
        (_error("timeout", retryable=True), 1, Verdict.RETRY),
        (_error("timeout", retryable=True), 0, Verdict.REPLAN),
        (_error("validation"), 3, Verdict.REPLAN),
        (_error("policy"), 0, Verdict.REPLAN),
        (_error("protocol"), 3, Verdict.ESCALATE),
        (_error("auth"), 0, Verdict.ESCALATE),
        (_error("internal"), 0, Verdict.ESCALATE),
    ],
)
def test_a_failure_is_retried_replanned_or_escalated(
    error: dict[str, Any], left: int, verdict: Verdict
) -> None:
    assert score_failure(error, attempts_left=left).verdict is verdict


def test_an_unknown_outcome_is_never_retried() -> None:
    assert score_unknown().verdict is Verdict.ESCALATE
