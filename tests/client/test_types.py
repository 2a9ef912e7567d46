"""What the client reads: every member typed, unknown ones kept, odd ones named."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from contextos_client import RunContext, ToolResult, Unreachable, Verdict
from contextos_client.reading import Misshapen, parse_object
from tests.client.gateways import client_of, raw, result, says, scripted
from tests.client.test_requests import RUN


@pytest.mark.proves("C2")
def test_a_result_is_read_in_full() -> None:
    body = result(
        evidence_refs=["ev_1"],
        mutations=[{"kind": "note", "ref": "note_1"}],
        approval={"gate": "GATE", "approval_id": "apr_1", "state": "consumed"},
        task={"task_id": "task_1", "state": "completed", "poll_after_ms": 250},
        decision_id="dec_1",
    )
    read = ToolResult.read(body)
    assert read.output == {"order_id": "ord_1001"}
    assert read.evidence_refs == ("ev_1",)
    assert read.mutations == ({"kind": "note", "ref": "note_1"},)
    assert (read.approval and read.approval.gate, read.task and read.task.poll_after) == (
        "GATE",
        0.25,
    )
    assert (read.decision_id, read.latency_ms, read.attempts) == ("dec_1", 3, 1)


def test_members_of_a_later_version_are_kept_in_raw() -> None:
    read = ToolResult.read({**result(), "weather": "fine"})
    assert read.raw["weather"] == "fine"


def test_a_kind_of_a_later_version_does_not_hide_the_error() -> None:
    error = ToolResult.read(result("failed", kind="astrology", code="stars.wrong")).error
    assert error is not None
    assert (error.kind, error.code, error.raw["kind"]) == (None, "stars.wrong", "astrology")


def test_what_was_read_can_not_be_changed() -> None:
    read = ToolResult.read(result())
    with pytest.raises(FrozenInstanceError):
        read.output = 1  # type: ignore[misc]


def test_a_run_tells_whose_it_is_and_how_far_it_goes() -> None:
    run = RunContext.read(RUN)
    assert run.principal_chain[0].id == "agent_1"
    assert run.run_budget.max_calls == 100
    assert run.pins == {"adp_orders": "1.0.0"}


@pytest.mark.proves("C19")
def test_a_verdict_names_each_finding() -> None:
    finding = {"step_id": "s1", "code": "args.schema", "message": "No.", "severity": "block"}
    with scripted(says({"verdict": "replan", "findings": [finding]})) as script:
        verdict = client_of(script).verify_plan("run_1", {"plan_id": "p", "steps": []})
    assert verdict.verdict is Verdict.REPLAN
    assert not verdict.ok
    assert (verdict.findings[0].step_id, verdict.findings[0].code) == ("s1", "args.schema")


@pytest.mark.parametrize(
    "change",
    [
        {"status": "splendid"},
        {"status": None},
        {"attempts": "three"},
        {"attempts": True},
        {"evidence_refs": [1]},
        {"mutations": ["note"]},
        {"task": {"task_id": "t", "state": "asleep", "poll_after_ms": 1}},
        {"error": {"message": "no code"}},
    ],
)
def test_an_answer_off_the_contract_is_never_taken_for_a_result(change: dict[str, Any]) -> None:
    body = {**result(), **change}
    with scripted(says(body)) as script, pytest.raises(Unreachable, match=next(iter(change))):
        client_of(script).call("run_1", "a.b", {})


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b'{"a": NaN}', b"\xff\xfe{}", b"[" * 100_000, b'{"a": 1}x']
)
def test_only_one_strict_object_is_an_answer(text: bytes) -> None:
    with pytest.raises(Misshapen):
        parse_object(text)


def test_an_error_page_of_a_proxy_is_no_refusal_of_ours() -> None:
    page = b"<h1>403</h1>"
    head = f"HTTP/1.1 403 No\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n"
    with scripted(raw(head.encode() + page)) as script, pytest.raises(Unreachable, match="403"):
        client_of(script).call("run_1", "a.b", {})


def test_json_that_is_neither_envelope_nor_problem_is_no_refusal_of_ours() -> None:
    with scripted(says({"error": "nope"}, 403)) as script, pytest.raises(Unreachable) as caught:
        client_of(script).call("run_1", "a.b", {})
    assert caught.value.http_status == 403
