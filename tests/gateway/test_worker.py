"""Calls that go to a worker: queued, attempted, retried, lost, reconciled (C9, C12, E1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.decisions import rows_of
from audit.models import DecisionRow
from contextos.core.errors import ContextOSError
from gateway.execution import attempt_inline
from gateway.leases import lease_to_execute
from gateway.models import Run, ToolCall
from gateway.reconcile import record_outcome, run_again
from gateway.states import CallState
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from registry.services.kill_switches import throw_switch
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry.documents import bundle
from tests.registry.manifests import orders
from tests.registry.walks import policy_walk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("function_runner")]
CALLS = "/api/v1/tool-calls"


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld, with_work=True)


def _note(world: GatewayWorld, text: str, *, key: str = "ik_1", **how: Any) -> Any:
    run = how.pop("run", None) or world.open_run()
    body = {
        "run_id": run["run_id"],
        "capability_id": how.pop("capability", "notes.add"),
        "args": {"text": text},
        "idempotency_key": key,
    }
    return world.post(CALLS, body, **how)


def _worked(answer: Any, *, times: int = 1) -> ToolCall:
    call_id = answer.json()["tool_call_id"]
    for _ in range(times):
        ToolCall.objects.filter(pk=call_id).update(due_at=timezone.now())
        work_on(call_id)
    return ToolCall.objects.get(pk=call_id)


def _statuses(world: GatewayWorld, call: ToolCall) -> list[str]:
    rows = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)
    return [row["status"] for row in rows]


def _abandon(call: ToolCall) -> None:
    """As after `kill -9`: the lease ran out, and nobody holds it."""
    assert lease_to_execute(call, seconds=1)
    ToolCall.objects.filter(pk=call.pk).update(
        lease_until=timezone.now() - timedelta(seconds=1), worker="gone:1:1"
    )


@pytest.mark.proves("C1", "C9")
def test_a_write_is_accepted_and_waits_for_a_worker(world: GatewayWorld, ledger: list[str]) -> None:
    answer = _note(world, "hello")
    assert answer.status_code == 202
    body = answer.json()
    assert (body["status"], body["output"]) == ("deferred", None)
    assert answer.headers["Location"] == f"{CALLS}/{body['tool_call_id']}"
    assert int(answer.headers["Retry-After"]) >= 1
    assert ledger == []
    assert ToolCall.objects.get().state == CallState.QUEUED


@pytest.mark.proves("A5", "E1")
def test_a_worker_makes_the_call_and_the_caller_reads_its_result(
    world: GatewayWorld, ledger: list[str]
) -> None:
    answer = _note(world, "hello")
    call = _worked(answer)
    assert call.state == CallState.OK
    assert _statuses(world, call) == ["APPROVED", "EXECUTED"]
    pair = world.get(answer.headers["Location"]).json()
    assert pair["result"]["output"] == {"note_id": "note_ik_1"}
    assert pair["result"]["metrics"]["cost_cents"] == 3
    assert ledger == ["note ik_1"]


@pytest.mark.proves("C9")
def test_a_repeat_of_a_waiting_key_points_at_the_same_call(world: GatewayWorld) -> None:
    run = world.open_run()
    first = _note(world, "hello", run=run)
    again = _note(world, "hello", run=run)
    assert (again.status_code, again.json()) == (202, first.json())
    assert ToolCall.objects.count() == 1
    assert Run.objects.get().used_calls == 1


@pytest.mark.proves("C9")
def test_a_repeat_while_its_attempt_executes_is_in_flight(world: GatewayWorld) -> None:
    run = world.open_run()
    first = _note(world, "hello", run=run)
    lease_to_execute(ToolCall.objects.get(pk=first.json()["tool_call_id"]), seconds=30)
    again = _note(world, "hello", run=run)
    assert again.status_code == 409
    assert again.json()["error"]["code"] == "idempotency.in_flight"
    assert again.json()["error"]["retryable"] is True


def test_a_worker_that_comes_second_finds_nothing_to_do(
    world: GatewayWorld, ledger: list[str]
) -> None:
    call = _worked(_note(world, "hello"))
    assert work_on(call.pk) is False
    assert ledger == ["note ik_1"]


@pytest.mark.proves("C12")
def test_a_retry_keeps_the_key_and_ends_well(world: GatewayWorld, ledger: list[str]) -> None:
    answer = _note(world, "fail until 3")
    call = _worked(answer)
    assert (call.state, call.attempts) == (CallState.QUEUED, 1)
    assert call.due_at is not None
    assert call.due_at > timezone.now()
    call = _worked(answer, times=2)
    assert (call.state, call.attempts) == (CallState.OK, 3)
    assert ledger == ["note ik_1"]
    assert _statuses(world, call) == ["APPROVED", "EXECUTED"]


@pytest.mark.proves("C12")
def test_the_row_of_a_quick_call_says_how_often_it_was_tried(
    world: GatewayWorld, ledger: list[str]
) -> None:
    manifest = orders(version="1.1.0")
    policy = {"max_attempts": 2, "retryable_error_codes": ["ORDER_NOT_FOUND"]}
    manifest["capabilities"][0]["retry_policy"] = policy
    world.house.published(manifest)
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0404"},
    }
    answer = world.post(CALLS, body).json()
    call = ToolCall.objects.get()
    assert (answer["status"], answer["attempts"], call.attempts) == ("failed", 2, 2)
    assert len(ledger) == 2


@pytest.mark.proves("C12")
def test_a_call_whose_attempts_are_spent_is_a_dead_letter(world: GatewayWorld) -> None:
    call = _worked(_note(world, "always fails"), times=3)
    assert (call.state, call.attempts, call.dead_letter) == (CallState.FAILED, 3, True)
    assert call.error_code == "TRY_AGAIN"


@pytest.mark.proves("C9", "C12")
def test_a_died_runner_is_tried_again_where_the_adapter_deduplicates(
    world: GatewayWorld, ledger: list[str]
) -> None:
    call = _worked(_note(world, "die after writing"), times=2)
    assert (call.state, call.attempts) == (CallState.OK, 2)
    assert ledger == ["note ik_1"]


@pytest.mark.proves("C9", "E1")
def test_a_died_runner_is_an_unknown_outcome_where_nobody_deduplicates(
    world: GatewayWorld, ledger: list[str]
) -> None:
    answer = _note(world, "die after writing", capability="notes.add_blindly")
    call = _worked(answer)
    assert call.state == CallState.UNKNOWN_OUTCOME
    assert _statuses(world, call) == ["APPROVED", "UNKNOWN"]
    assert work_on(call.pk) is False
    assert ledger == ["blind ik_1"]
    result = world.get(answer.headers["Location"]).json()["result"]
    assert (result["status"], result["critic"]["verdict"]) == ("unknown_outcome", "escalate")


@pytest.mark.proves("C13")
def test_a_write_that_answers_garbage_is_unknown_and_not_failed(world: GatewayWorld) -> None:
    call = _worked(_note(world, "answer garbage"))
    assert (call.state, call.error_code) == (CallState.UNKNOWN_OUTCOME, "output.schema")


@pytest.mark.proves("C9")
def test_a_lost_worker_is_replaced_where_the_adapter_deduplicates(
    world: GatewayWorld, ledger: list[str]
) -> None:
    answer = _note(world, "hello")
    _abandon(ToolCall.objects.get())
    sweep_calls()
    call = ToolCall.objects.get()
    assert (call.state, call.losses) == (CallState.QUEUED, 1)
    assert _worked(answer).state == CallState.OK
    assert ledger == ["note ik_1"]


@pytest.mark.proves("C9")
def test_a_lost_worker_leaves_a_blind_write_to_a_person(world: GatewayWorld) -> None:
    _note(world, "hello", capability="notes.add_blindly")
    _abandon(ToolCall.objects.get())
    sweep_calls()
    call = ToolCall.objects.get()
    assert (call.state, call.error_code) == (CallState.UNKNOWN_OUTCOME, "call.worker_lost")
    assert _statuses(world, call) == ["APPROVED", "UNKNOWN"]


def test_a_call_that_kills_its_workers_is_given_up(world: GatewayWorld) -> None:
    _note(world, "hello")
    for _ in range(4):
        _abandon(ToolCall.objects.get())
        sweep_calls()
    call = ToolCall.objects.get()
    assert (call.state, call.losses) == (CallState.UNKNOWN_OUTCOME, 3)


@pytest.mark.proves("B19")
def test_a_kill_switch_also_stops_what_waits_in_the_queue(
    world: GatewayWorld, ledger: list[str]
) -> None:
    answer = _note(world, "hello")
    throw_switch(
        tenant_id=world.tenant_id,
        scope="adapter",
        target_id="adp_work",
        reason="Under attack.",
        actor=world.house.actor("operator"),
    )
    call = _worked(answer)
    assert call.state == CallState.REJECTED
    assert _statuses(world, call) == ["APPROVED", "REJECTED"]
    assert ledger == []


# --- people ---------------------------------------------------------------------------------------
def _unknown(world: GatewayWorld, capability: str = "notes.add_blindly") -> ToolCall:
    run = world.open_run()
    _note(world, "hello", capability=capability, run=run)
    call = ToolCall.objects.get()
    for _ in range(4):
        if ToolCall.objects.get().state == CallState.UNKNOWN_OUTCOME:
            break
        _abandon(ToolCall.objects.get())
        sweep_calls()
    call.refresh_from_db()
    assert call.state == CallState.UNKNOWN_OUTCOME
    return call


@pytest.mark.proves("C1", "C4")
def test_a_rule_published_meanwhile_stops_what_waits_in_the_queue(
    world: GatewayWorld, ledger: list[str]
) -> None:
    answer = _note(world, "hello")
    quiet = {
        "rule_id": "no_notes_after_six",
        "description": "Nobody writes notes any more.",
        "applies_to": {"capability": "notes.add"},
        "if": {"==": [{"var": "request.args.text"}, "hello"]},
        "then": {"allow": False},
    }
    policy_walk(world.house).published(bundle(version="1.1.0", rules=[quiet], tests=[]))
    ToolCall.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    call = _worked(answer)
    assert ledger == []
    assert _statuses(world, call) == ["APPROVED", "REJECTED"]
    shown = world.get(f"{CALLS}/{call.pk}").json()["result"]
    assert (shown["status"], shown["error"]["code"]) == ("rejected", "policy.denied_by_rule")


@pytest.mark.proves("C4", "C5")
def test_what_policy_came_to_ask_people_about_does_not_run_from_the_queue_without_them(
    world: GatewayWorld, ledger: list[str]
) -> None:
    answer = _note(world, "hello")
    asking = {
        "rule_id": "notes_need_a_person",
        "description": "Somebody reads every note first.",
        "applies_to": {"capability": "notes.add"},
        "if": True,
        "then": {"allow": True, "requires_approval_gate": "GATE_NOTES"},
    }
    policy_walk(world.house).published(bundle(version="1.1.0", rules=[asking], tests=[]))
    ToolCall.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    call = _worked(answer)
    assert ledger == []
    assert _statuses(world, call) == ["APPROVED", "REJECTED"]
    shown = world.get(f"{CALLS}/{call.pk}").json()["result"]
    assert (shown["status"], shown["error"]["code"]) == ("rejected", "approval.voided")
    assert "nobody was asked" in shown["error"]["message"]


@pytest.mark.proves("C9", "E1")
def test_a_person_settles_what_happened_and_replays_answer_that(world: GatewayWorld) -> None:
    call = _unknown(world)
    record_outcome(
        tenant_id=world.tenant_id,
        tool_call_id=call.pk,
        actor=world.house.actor("operator"),
        happened=True,
        evidence="Found note_7 in the customer's file.",
        output={"note_id": "note_7"},
    )
    assert _statuses(world, call) == ["APPROVED", "UNKNOWN", "EXECUTED"]
    again = _note(
        world, "hello", capability="notes.add_blindly", run={"run_id": call.run_id}
    ).json()
    assert (again["status"], again["output"], again["replayed"]) == (
        "ok",
        {"note_id": "note_7"},
        True,
    )
    run = Run.objects.get()
    # Nobody said what it cost: it happened, so the whole reserve is booked.
    assert (run.reserved_cents, run.spent_cents) == (0, 5)


def test_what_did_not_happen_is_recorded_as_failed(world: GatewayWorld) -> None:
    call = _unknown(world)
    settled = record_outcome(
        tenant_id=world.tenant_id,
        tool_call_id=call.pk,
        actor=world.house.actor("operator"),
        happened=False,
        evidence="The file has no note of that day.",
    )
    assert (settled.state, settled.error_code) == (CallState.FAILED, "outcome.did_not_happen")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"evidence": "   short   "}, "reconcile.evidence_missing"),
        ({"output": {"wrong": 1}}, "reconcile.output_invalid"),
        ({"happened": False, "output": {"note_id": "n"}}, "reconcile.output_without_effect"),
        ({"tenant_id": "tenant_other"}, "call.unknown"),
    ],
)
def test_a_bad_settlement_changes_nothing(
    world: GatewayWorld, change: dict[str, Any], code: str
) -> None:
    call = _unknown(world)
    said: dict[str, Any] = {
        "tenant_id": world.tenant_id,
        "tool_call_id": call.pk,
        "actor": world.house.actor("operator"),
        "happened": True,
        "evidence": "Found it in the file.",
        **change,
    }
    with pytest.raises(ContextOSError) as refused:
        record_outcome(**said)
    assert refused.value.code == code
    call.refresh_from_db()
    assert call.state == CallState.UNKNOWN_OUTCOME


def test_a_blind_write_can_not_be_run_again(world: GatewayWorld) -> None:
    call = _unknown(world)
    with pytest.raises(ContextOSError, match="second effect"):
        run_again(
            tenant_id=world.tenant_id,
            tool_call_id=call.pk,
            actor=world.house.actor("operator"),
            reason="Let us try once more.",
        )


def test_a_deduplicated_write_runs_again_with_its_key(
    world: GatewayWorld, ledger: list[str]
) -> None:
    call = _unknown(world, "notes.add")
    run_again(
        tenant_id=world.tenant_id,
        tool_call_id=call.pk,
        actor=world.house.actor("operator"),
        reason="The adapter knows the key.",
    )
    work_on(call.pk)
    call.refresh_from_db()
    assert call.state == CallState.OK
    assert ledger == ["note ik_1"]
    assert _statuses(world, call) == ["APPROVED", "UNKNOWN", "EXECUTED"]


def test_a_call_that_a_person_lets_run_again_is_not_under_its_old_wish_to_cancel(
    world: GatewayWorld, ledger: list[str]
) -> None:
    call = _unknown(world, "notes.add")
    ToolCall.objects.update(cancel_reason="It took too long.")
    run_again(
        tenant_id=world.tenant_id,
        tool_call_id=call.pk,
        actor=world.house.actor("operator"),
        reason="The adapter knows the key.",
    )
    work_on(call.pk)
    call.refresh_from_db()
    assert (call.state, call.cancel_reason) == (CallState.OK, "")
    assert ledger == ["note ik_1"]


def test_an_inline_call_that_lost_its_lease_answers_how_it_stands_and_refuses_nothing(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken_over(attempt: Any) -> Any:
        ToolCall.objects.filter(pk=attempt.call.pk).update(
            state=CallState.QUEUED, worker="", lease_until=None, due_at=timezone.now()
        )
        return attempt_inline(attempt)

    monkeypatch.setattr("gateway.calls.attempt_inline", taken_over)
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
    }
    answer = world.post(CALLS, body)
    call = ToolCall.objects.get()
    assert (answer.status_code, answer.json()["tool_call_id"]) == (202, call.pk)
    assert _statuses(world, call) == ["APPROVED"]
    assert not DecisionRow.objects.filter(status="REJECTED").exists()
