"""Floods of refusals, loops, budgets under races, waiting callers (C10, C12, E1)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from audit.decisions import rows_of
from audit.models import DecisionRow
from gateway.models import RefusalWindow, Run, ToolCall
from gateway.patience import wait_preference
from gateway.refusals import close_windows
from gateway.states import CallState
from gateway.worker import work_on
from tests.gateway.work_manifests import NOTE_IN, work
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("function_runner")]
CALLS = "/api/v1/tool-calls"


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld, with_work=True)


def _lookup(world: GatewayWorld, run: dict[str, Any], order: str = "ord_0001", **more: Any) -> Any:
    body = {
        "run_id": run["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": order},
        **more,
    }
    return world.post(CALLS, body)


# --- floods ---------------------------------------------------------------------------------------
@pytest.mark.proves("E1")
def test_a_flood_of_the_same_refusal_is_one_record_and_one_count(world: GatewayWorld) -> None:
    run = world.open_run()
    answers = [_lookup(world, run, "nonsense").json() for _ in range(5)]
    assert len({answer["decision_id"] for answer in answers}) <= 2  # a minute may turn meanwhile
    assert all(answer["tool_call_id"] is None for answer in answers)
    counted = sum(RefusalWindow.objects.values_list("repeats", flat=True))
    assert counted + DecisionRow.objects.filter(status="REJECTED").count() == 5
    close_windows(timezone.now() + timedelta(minutes=2))
    rows = [
        rows_of(tenant_id=world.tenant_id, decision_id=decision_id)[0]
        for decision_id in DecisionRow.objects.values_list("decision_id", flat=True)
    ]
    assert sum(row["repeat_count"] for row in rows) == 5
    assert all(row["error"]["code"] == "args.schema" for row in rows)
    assert not RefusalWindow.objects.filter(closed=False).exists()


def test_other_codes_and_other_capabilities_are_not_the_same_flood(world: GatewayWorld) -> None:
    run = world.open_run()
    first = _lookup(world, run, "nonsense").json()["decision_id"]
    other = world.post(
        CALLS, {"run_id": run["run_id"], "capability_id": "orders.nothing", "args": {}}
    ).json()["decision_id"]
    assert first != other
    assert DecisionRow.objects.filter(status="REJECTED").count() == 2


def test_a_closed_minute_counts_no_more(world: GatewayWorld) -> None:
    run = world.open_run()
    _lookup(world, run, "nonsense")
    RefusalWindow.objects.update(closed=True)
    second = _lookup(world, run, "nonsense").json()["decision_id"]
    assert rows_of(tenant_id=world.tenant_id, decision_id=second)


# --- loops ----------------------------------------------------------------------------------------
@pytest.mark.proves("C12")
def test_the_same_call_failing_again_and_again_is_refused(world: GatewayWorld) -> None:
    run = world.open_run()
    for _ in range(3):
        assert _lookup(world, run, "ord_0404").json()["error"]["code"] == "ORDER_NOT_FOUND"
    answer = _lookup(world, run, "ord_0404")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["kind"]) == (
        429,
        "loop.detected",
        "rate_limited",
    )
    assert 0 < int(answer.headers["Retry-After"]) <= 300
    assert _lookup(world, run, "ord_0001").status_code == 200
    assert ToolCall.objects.filter(state=CallState.FAILED).count() == 3


@pytest.mark.proves("C12")
def test_a_new_key_does_not_hide_a_loop(world: GatewayWorld) -> None:
    manifest = work(version="1.1.0")
    manifest["schemas"][NOTE_IN]["properties"]["idempotency_key"] = {"type": "string"}
    world.house.published(manifest)
    run = world.open_run()
    for number in range(3):
        call = ToolCall.objects.get(pk=_fail(world, run, f"ik_{number}").json()["tool_call_id"])
        for _ in range(3):
            ToolCall.objects.filter(pk=call.pk).update(due_at=timezone.now())
            work_on(call.pk)
    assert ToolCall.objects.filter(state=CallState.FAILED).count() == 3
    answer = _fail(world, run, "ik_another")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "loop.detected")


def _fail(world: GatewayWorld, run: dict[str, Any], key: str) -> Any:
    asked = {"capability_id": "notes.add", "args": {"text": "always fails"}}
    return world.post(CALLS, {"run_id": run["run_id"], "idempotency_key": key, **asked})


def test_a_success_in_between_is_no_loop(world: GatewayWorld) -> None:
    run = world.open_run()
    for _ in range(3):
        _lookup(world, run, "ord_0404")
    failed = ToolCall.objects.filter(state=CallState.FAILED).order_by("-tool_call_id").first()
    assert failed is not None
    ToolCall.objects.filter(pk=failed.pk).update(state=CallState.OK)
    assert _lookup(world, run, "ord_0404").status_code == 200


def test_old_failures_are_forgiven_and_other_runs_do_not_count(world: GatewayWorld) -> None:
    run = world.open_run()
    for _ in range(3):
        _lookup(world, run, "ord_0404")
    assert _lookup(world, world.open_run(), "ord_0404").status_code == 200
    ToolCall.objects.update(finished_at=timezone.now() - timedelta(minutes=6))
    assert _lookup(world, run, "ord_0404").status_code == 200


def test_the_arguments_can_not_be_guessed_from_the_loop_guards_digest(
    world: GatewayWorld,
) -> None:
    _lookup(world, world.open_run())
    _lookup(world, world.open_run())
    digests = set(ToolCall.objects.values_list("args_digest", flat=True))
    assert len(digests) == 2  # the same arguments, keyed by each run


# --- budgets --------------------------------------------------------------------------------------
def _note(world: GatewayWorld, run: dict[str, Any], key: str) -> Any:
    body = {
        "run_id": run["run_id"],
        "capability_id": "notes.add",
        "args": {"text": "x"},
        "idempotency_key": key,
    }
    return world.post(CALLS, body)


@pytest.mark.proves("C10")
def test_money_is_reserved_and_settled_exactly(world: GatewayWorld) -> None:
    run = world.open_run(run_budget={"max_cost_cents": 12})
    first = _note(world, run, "ik_1").json()["tool_call_id"]
    assert _note(world, run, "ik_2").status_code == 202
    held = Run.objects.get()
    assert (held.reserved_cents, held.spent_cents) == (10, 0)
    refused = _note(world, run, "ik_3")
    assert (refused.status_code, refused.json()["error"]["kind"]) == (429, "budget")
    work_on(first)
    held = Run.objects.get()
    assert (held.reserved_cents, held.spent_cents) == (5, 3)


def test_a_tool_that_says_nothing_of_its_cost_is_booked_with_the_reserve(
    world: GatewayWorld,
) -> None:
    run = world.open_run()
    body = {
        "run_id": run["run_id"],
        "capability_id": "notes.add_blindly",
        "args": {"text": "x"},
        "idempotency_key": "ik_1",
    }
    work_on(world.post(CALLS, body).json()["tool_call_id"])
    held = Run.objects.get()
    assert (held.reserved_cents, held.spent_cents) == (0, 5)


def test_what_a_tool_wrote_stays_out_of_the_record_that_nobody_can_erase(
    world: GatewayWorld,
) -> None:
    result = _lookup(world, world.open_run(), "ord_0404").json()
    assert result["error"]["message"] == "There is no such order."
    rows = rows_of(tenant_id=world.tenant_id, decision_id=result["decision_id"])
    assert rows[-1]["error"]["code"] == "ORDER_NOT_FOUND"
    assert "no such order" not in str(rows)


@pytest.mark.parametrize("place", [f"{CALLS}/%00", "/api/v1/runs/%00", "/api/v1/approvals/%00"])
def test_a_nul_in_an_address_is_not_found(world: GatewayWorld, place: str) -> None:
    assert world.get(place).status_code in (403, 404)


def test_a_run_past_its_deadline_is_refused(world: GatewayWorld) -> None:
    run = world.open_run()
    Run.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert _lookup(world, run).json()["error"]["code"] == "budget.exhausted"


def test_a_run_out_of_wall_time_is_refused_but_waiting_for_people_is_free(
    world: GatewayWorld,
) -> None:
    run = world.open_run()
    Run.objects.update(created_at=timezone.now() - timedelta(hours=2))
    assert _lookup(world, run).status_code == 429
    Run.objects.update(waited_ms=2 * 3_600_000)
    assert _lookup(world, run).status_code == 200


def _at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """All of them in threads that start together."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Any:
        try:
            barrier.wait(30)
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.slow
@pytest.mark.proves("C10")
@pytest.mark.django_db(transaction=True)
def test_racing_calls_never_overdraw_the_budget(world: GatewayWorld) -> None:
    run = world.open_run(run_budget={"max_cost_cents": 22, "max_calls": 10})
    answers = _at_once(8, lambda number: _note(world, run, f"ik_{number}"))
    codes = sorted(answer.status_code for answer in answers)
    held = Run.objects.get()
    assert codes == [202] * 4 + [429] * 4
    assert (held.reserved_cents, held.used_calls) == (20, 4)
    assert ToolCall.objects.count() == 4


@pytest.mark.slow
@pytest.mark.proves("C10")
@pytest.mark.django_db(transaction=True)
def test_sixty_four_threads_reserve_and_settle_to_the_cent(world: GatewayWorld) -> None:
    run = world.open_run(run_budget={"max_cost_cents": 100, "max_calls": 64})
    answers = _at_once(64, lambda number: _note(world, run, f"ik_{number}"))
    taken = [a.json()["tool_call_id"] for a in answers if a.status_code == 202]
    assert (len(taken), sorted({a.status_code for a in answers})) == (20, [202, 429])
    held = Run.objects.get()
    assert (held.used_calls, held.reserved_cents, held.spent_cents) == (20, 100, 0)
    for call in taken:
        work_on(call)
    held.refresh_from_db()
    assert (held.used_calls, held.reserved_cents, held.spent_cents) == (20, 0, 60)


@pytest.mark.slow
@pytest.mark.proves("C9")
@pytest.mark.django_db(transaction=True)
def test_parallel_identical_calls_are_one_row_and_one_effect(
    world: GatewayWorld, ledger: list[str]
) -> None:
    run = world.open_run()
    answers = _at_once(16, lambda _: _note(world, run, "ik_1"))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["tool_call_id"] for answer in answers}) == 1
    work_on(answers[0].json()["tool_call_id"])
    assert ledger == ["note ik_1"]
    assert (ToolCall.objects.count(), Run.objects.get().used_calls) == (1, 1)


# --- waiting --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("wait=5", 5.0),
        ("respond-async, wait=10", 10.0),
        ('wait="7"', 7.0),
        ("WAIT = 3; foo", 3.0),
        ("wait=999999", 30.0),
        ("wait=-1", 0.0),
        ("await=5", 0.0),
        ("wait=5x", 0.0),
        ("", 0.0),
        (None, 0.0),
    ],
)
def test_the_preference_is_read_as_rfc_7240_writes_it(header: str | None, seconds: float) -> None:
    assert wait_preference(header) == seconds


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_patient_caller_gets_the_end_and_the_others_are_told_to_come_back(
    world: GatewayWorld, settings: Any
) -> None:
    run = world.open_run()
    body = {
        "run_id": run["run_id"],
        "capability_id": "notes.add",
        "args": {"text": "x"},
        "idempotency_key": "ik_1",
    }

    def second(number: int) -> Any:
        if number == 0:
            return world.post(CALLS, body, Prefer="wait=10")
        while not ToolCall.objects.exists():
            threading.Event().wait(0.02)
        work_on(ToolCall.objects.get().pk)
        return None

    answer = _at_once(2, second)[0]
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert answer.json()["replayed"] is False


def test_a_wait_that_runs_out_answers_202(world: GatewayWorld) -> None:
    run = world.open_run()
    body = {
        "run_id": run["run_id"],
        "capability_id": "notes.add",
        "args": {"text": "x"},
        "idempotency_key": "ik_1",
    }
    assert world.post(CALLS, body, Prefer="wait=1").status_code == 202
