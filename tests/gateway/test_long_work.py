"""Long-running work: polled as a row, answered, cancelled, given up; never a sleeper (C14)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.decisions import rows_of
from gateway.leases import lease_to_execute
from gateway.models import Run, ToolCall
from gateway.states import CallState
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from tests.factories import make_agent, make_agent_token
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("function_runner"),
    pytest.mark.proves("C14"),
]
CALLS = "/api/v1/tool-calls"


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld, with_work=True)


def _begun(world: GatewayWorld, kind: str = "plain") -> str:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "reports.build",
        "args": {"kind": kind},
    }
    answer = world.post(CALLS, body)
    assert answer.status_code == 202, answer.content
    tool_call_id = str(answer.json()["tool_call_id"])
    work_on(tool_call_id)
    return tool_call_id


def _polled(tool_call_id: str, *, times: int = 1) -> ToolCall:
    for _ in range(times):
        work_on(tool_call_id)
    return ToolCall.objects.get(pk=tool_call_id)


def _result(world: GatewayWorld, tool_call_id: str) -> dict[str, Any]:
    return dict(world.get(f"{CALLS}/{tool_call_id}").json()["result"])


def _statuses(world: GatewayWorld, tool_call_id: str) -> list[str]:
    decision_id = ToolCall.objects.get(pk=tool_call_id).decision_id
    return [row["status"] for row in rows_of(tenant_id=world.tenant_id, decision_id=decision_id)]


def test_work_that_takes_long_is_polled_to_its_end(world: GatewayWorld) -> None:
    tool_call_id = _begun(world)
    waiting = _result(world, tool_call_id)
    assert waiting["status"] == "deferred"
    assert waiting["task"]["state"] == "working"
    assert waiting["task"]["task_id"].startswith("task_")
    assert "handle" not in waiting["task"]
    call = _polled(tool_call_id, times=2)
    assert call.state == CallState.OK
    ended = _result(world, tool_call_id)
    assert ended["output"] == {"report_id": "rep_1", "year": None}
    assert ended["task"]["state"] == "completed"
    assert ended["task"]["task_id"] == waiting["task"]["task_id"]
    assert _statuses(world, tool_call_id) == ["APPROVED", "DEFERRED", "EXECUTED"]


def test_a_task_that_ends_at_once_needs_no_poll(world: GatewayWorld) -> None:
    assert _result(world, _begun(world, "at once"))["status"] == "ok"


def test_a_task_that_breaks_says_why(world: GatewayWorld) -> None:
    tool_call_id = _begun(world, "breaks")
    _polled(tool_call_id)
    ended = _result(world, tool_call_id)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "REPORT_BROKEN")
    assert ended["task"]["state"] == "failed"


def test_polls_carry_the_trace_of_the_call(world: GatewayWorld, ledger: list[str]) -> None:
    tool_call_id = _begun(world)
    trace_id = _result(world, tool_call_id)["trace_id"]
    assert any(f"begun {tool_call_id} 00-{trace_id}-" in line for line in ledger)


def test_a_question_is_asked_answered_and_passed_on(world: GatewayWorld) -> None:
    tool_call_id = _begun(world, "asks")
    _polled(tool_call_id)
    asked = _result(world, tool_call_id)
    assert (asked["status"], asked["error"]["kind"]) == ("paused", "input")
    assert asked["task"]["state"] == "input_required"
    assert asked["input_request"]["message"] == "Which year?"
    answer = world.post(
        f"{CALLS}/{tool_call_id}/input", {"action": "accept", "content": {"year": 2025}}
    )
    assert answer.status_code == 202, answer.content
    _polled(tool_call_id)
    assert _result(world, tool_call_id)["output"]["year"] == 2025
    assert _statuses(world, tool_call_id) == [
        "APPROVED",
        "DEFERRED",
        "ESCALATED",
        "DEFERRED",
        "EXECUTED",
    ]


def test_an_answer_is_kept_out_of_row_and_record(world: GatewayWorld) -> None:
    tool_call_id = _begun(world, "asks")
    _polled(tool_call_id)
    world.post(f"{CALLS}/{tool_call_id}/input", {"action": "accept", "content": {"year": 198471}})
    row = ToolCall.objects.filter(pk=tool_call_id).values().get()
    assert "198471" not in str(row)
    rows = rows_of(tenant_id=world.tenant_id, decision_id=row["decision_id"])
    assert "198471" not in str(rows)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"action": "accept", "content": {"year": "soon"}}, 422, "input.invalid"),
        ({"action": "accept"}, 422, "input.invalid"),
        ({"action": "maybe"}, 400, "request.invalid"),
        ({"action": "accept", "content": {"year": 1}, "x": 1}, 400, "request.invalid"),
    ],
)
def test_an_answer_that_does_not_fit_leaves_the_question_open(
    world: GatewayWorld, body: dict[str, Any], status: int, code: str
) -> None:
    tool_call_id = _begun(world, "asks")
    _polled(tool_call_id)
    answer = world.post(f"{CALLS}/{tool_call_id}/input", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert ToolCall.objects.get().state == CallState.INPUT_REQUIRED


def test_a_question_may_be_declined(world: GatewayWorld) -> None:
    tool_call_id = _begun(world, "asks")
    _polled(tool_call_id)
    world.post(f"{CALLS}/{tool_call_id}/input", {"action": "decline"})
    _polled(tool_call_id)
    assert _result(world, tool_call_id)["error"]["code"] == "NO_YEAR"


def test_the_time_people_take_costs_the_run_nothing(world: GatewayWorld) -> None:
    tool_call_id = _begun(world, "asks")
    call = _polled(tool_call_id)
    earlier = {**call.input_request, "asked_at": "2026-01-01T00:00:00.000Z"}  # type: ignore[dict-item]
    ToolCall.objects.filter(pk=tool_call_id).update(input_request=earlier)
    world.post(f"{CALLS}/{tool_call_id}/input", {"action": "decline"})
    assert Run.objects.get().waited_ms > 3_600_000


def test_input_is_taken_only_while_it_is_awaited(world: GatewayWorld) -> None:
    tool_call_id = _begun(world)
    answer = world.post(f"{CALLS}/{tool_call_id}/input", {"action": "decline"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "input.not_awaited")


def test_a_guessed_call_id_can_be_neither_read_nor_cancelled_nor_answered(
    world: GatewayWorld,
) -> None:
    tool_call_id = _begun(world, "asks")
    other = make_agent_token(make_agent(world.house.tenant, role="support_agent")).token
    place = f"{CALLS}/{tool_call_id}"
    assert world.get(place, token=other).status_code == 404
    assert world.post(f"{place}/cancel", {"reason": "x"}, token=other).status_code == 404
    assert world.post(f"{place}/input", {"action": "decline"}, token=other).status_code == 404


# --- cancelling -----------------------------------------------------------------------------------
def test_a_queued_call_is_cancelled_at_once(world: GatewayWorld, ledger: list[str]) -> None:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "notes.add",
        "args": {"text": "x"},
        "idempotency_key": "ik_1",
    }
    tool_call_id = world.post(CALLS, body).json()["tool_call_id"]
    answer = world.post(f"{CALLS}/{tool_call_id}/cancel", {"reason": "Not wanted any more."})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert work_on(tool_call_id) is False
    assert ledger == []
    assert _statuses(world, tool_call_id) == ["APPROVED", "CANCELLED"]
    run = Run.objects.get()
    assert (run.reserved_cents, run.spent_cents) == (0, 0)
    again = world.post(CALLS, body)
    assert (again.status_code, again.json()["status"]) == (200, "cancelled")


def test_a_cancel_asked_for_during_an_attempt_that_was_lost_keeps_the_next_from_starting(
    world: GatewayWorld, ledger: list[str]
) -> None:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "reports.build",
        "args": {"kind": "at once"},
    }
    tool_call_id = world.post(CALLS, body).json()["tool_call_id"]
    assert lease_to_execute(ToolCall.objects.get(), seconds=1)
    answer = world.post(f"{CALLS}/{tool_call_id}/cancel", {"reason": "Not wanted any more."})
    assert (answer.status_code, answer.json()["status"]) == (202, "deferred")
    gone = timezone.now() - timedelta(seconds=1)
    ToolCall.objects.update(lease_until=gone, worker="gone:1:1")
    sweep_calls()
    assert _polled(tool_call_id).state == CallState.CANCELLED
    assert ledger == []
    assert _statuses(world, tool_call_id) == ["APPROVED", "CANCELLED"]
    assert "Not wanted any more." in _result(world, tool_call_id)["error"]["message"]


def test_long_work_is_cancelled_by_asking_the_tool(world: GatewayWorld, ledger: list[str]) -> None:
    tool_call_id = _begun(world, "endless")
    answer = world.post(f"{CALLS}/{tool_call_id}/cancel", {"reason": "Too slow."})
    assert (answer.status_code, answer.json()["status"]) == (202, "deferred")
    _polled(tool_call_id)
    ended = _result(world, tool_call_id)
    assert (ended["status"], ended["task"]["state"]) == ("cancelled", "cancelled")
    assert f"cancelled {tool_call_id}" in ledger


def test_what_has_ended_can_not_be_cancelled_and_never_changes(world: GatewayWorld) -> None:
    tool_call_id = _begun(world, "at once")
    before = _result(world, tool_call_id)
    answer = world.post(f"{CALLS}/{tool_call_id}/cancel", {"reason": "Oh no."})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "call.already_ended")
    assert _result(world, tool_call_id) == before


@pytest.mark.parametrize("reason", ["", "   "])
def test_cancelling_needs_a_reason(world: GatewayWorld, reason: str) -> None:
    tool_call_id = _begun(world, "endless")
    answer = world.post(f"{CALLS}/{tool_call_id}/cancel", {"reason": reason})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "call.reason_missing")


# --- giving up ------------------------------------------------------------------------------------
def test_work_past_its_time_is_given_up_and_the_tool_told(
    world: GatewayWorld, ledger: list[str]
) -> None:
    tool_call_id = _begun(world, "endless")
    ToolCall.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    call = _polled(tool_call_id)
    assert (call.state, call.error_code, call.dead_letter) == ("failed", "task.expired", True)
    assert f"cancelled {tool_call_id}" in ledger


def test_a_question_nobody_answers_is_given_up_too(world: GatewayWorld) -> None:
    tool_call_id = _begun(world, "asks")
    _polled(tool_call_id)
    ToolCall.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    sweep_calls()
    call = _polled(tool_call_id)
    assert (call.state, call.error_code) == ("failed", "task.expired")


def test_the_time_in_which_nobody_answered_costs_the_run_nothing_either(
    world: GatewayWorld,
) -> None:
    tool_call_id = _begun(world, "asks")
    call = _polled(tool_call_id)
    earlier = {**call.input_request, "asked_at": "2026-01-01T00:00:00.000Z"}  # type: ignore[dict-item]
    over = timezone.now() - timedelta(seconds=1)
    ToolCall.objects.filter(pk=tool_call_id).update(input_request=earlier, ends_at=over)
    sweep_calls()
    assert ToolCall.objects.get().state == CallState.WORKING
    assert Run.objects.get().waited_ms > 3_600_000


def test_a_poll_that_is_held_by_another_worker_is_left_alone(world: GatewayWorld) -> None:
    tool_call_id = _begun(world)
    ToolCall.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    assert work_on(tool_call_id) is False
    ToolCall.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert work_on(tool_call_id) is True
