"""A refund from proposal to effect: approved once, rejected, expired, voided, cancelled (D1-D4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest
from audit.decisions import rows_of
from gateway.models import Run, ToolCall
from gateway.states import CallState
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from tests.approvals.world import CALLS, GATE, KEY, GateWorld
from tests.recorded_worlds import ready
from tests.registry.manifests import refunds
from tests.registry.walks import policy_walk

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner"),
]


@pytest.fixture
def world() -> GateWorld:
    return ready(GateWorld)


def _rows(world: GateWorld, call: ToolCall) -> list[dict[str, Any]]:
    return rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)


@pytest.mark.proves("C5", "D1")
def test_a_gated_call_waits_for_people(world: GateWorld, ledger: list[str]) -> None:
    answer = world.propose()
    body = answer.json()
    assert (answer.status_code, body["status"], body["error"]["kind"]) == (
        202,
        "paused",
        "approval",
    )
    assert body["approval"]["gate"] == GATE
    assert body["approval"]["state"] == "pending"
    assert answer.headers["Location"] == f"{CALLS}/{body['tool_call_id']}"
    call = ToolCall.objects.get()
    assert [row["status"] for row in _rows(world, call)] == ["PROPOSED"]
    assert work_on(call.pk) is False
    assert ledger == []


@pytest.mark.proves("D4", "C5")
def test_an_approved_call_runs_once_with_the_votes_in_its_record(
    world: GateWorld, ledger: list[str]
) -> None:
    request, call = world.proposed()
    world.vote(request, "fin1")
    call.refresh_from_db()
    assert call.state == CallState.QUEUED
    assert work_on(call.pk)
    assert ledger == [f"refund {KEY}"]
    rows = _rows(world, call)
    assert [row["status"] for row in rows] == ["PROPOSED", "APPROVED", "EXECUTED"]
    approval = rows[1]["approvals"][0]
    assert approval["votes"][0]["approver"] == world.approver("fin1").user_id
    assert approval["votes"][0]["factor"] == "totp"
    assert approval["digest"] == request.digest
    request.refresh_from_db()
    assert request.state == "consumed"
    again = world.propose(run={"run_id": call.run_id}).json()
    assert (again["replayed"], again["output"]) == (True, {"refund_id": f"rfd_{KEY}"})
    assert ledger == [f"refund {KEY}"]


@pytest.mark.proves("D4")
def test_a_rejected_call_never_runs_and_says_why(world: GateWorld, ledger: list[str]) -> None:
    request, call = world.proposed()
    world.vote(request, "fin1", "reject", reason="The customer was paid already.")
    call.refresh_from_db()
    assert call.state == CallState.REJECTED
    again = world.propose(run={"run_id": call.run_id})
    assert (again.status_code, again.json()["status"]) == (403, "rejected")
    assert "paid already" in again.json()["error"]["message"]
    assert [row["status"] for row in _rows(world, call)] == ["PROPOSED", "REJECTED"]
    sweep_calls()
    assert ledger == []


@pytest.mark.proves("D4")
def test_an_expired_request_never_runs(world: GateWorld, ledger: list[str]) -> None:
    request, call = world.proposed()
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_calls()
    call.refresh_from_db()
    request.refresh_from_db()
    assert (request.state, call.state) == ("expired", "rejected")
    assert _rows(world, call)[-1]["status"] == "EXPIRED"
    assert call.error_code == "approval.expired"
    assert ledger == []


@pytest.mark.proves("D2")
def test_a_newer_manifest_voids_what_waits(world: GateWorld, ledger: list[str]) -> None:
    request, call = world.proposed()
    world.house.published(refunds(version="1.1.0", name="Payments, renewed"))
    sweep_calls()
    request.refresh_from_db()
    call.refresh_from_db()
    assert (request.state, call.state, call.error_code) == (
        "voided",
        "rejected",
        "approval.voided",
    )
    assert "manifest" in request.void_reason
    assert ledger == []


@pytest.mark.proves("D2")
def test_a_changed_gate_voids_what_waits(world: GateWorld) -> None:
    request, _ = world.proposed()
    world.publish_gate(version="1.1.0", deny_threshold=2)
    sweep_calls()
    request.refresh_from_db()
    assert (request.state, request.void_reason) == ("voided", "The gate has been changed.")


@pytest.mark.proves("D2")
def test_what_people_look_at_first_is_told_first_that_it_is_void(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, _ = world.proposed(amount=1)
    large, call = world.proposed(amount=4200, key="ik_bbbbbbbbbbbbbbbb")
    world.publish_gate(version="1.1.0", deny_threshold=2)
    monkeypatch.setattr("gateway.resume.RECHECK_SECONDS", 0.0)  # time for one a round
    sweep_calls()
    for request in (small, large):
        request.refresh_from_db()
    call.refresh_from_db()
    assert (large.state, call.state, small.state) == ("voided", CallState.REJECTED, "pending")
    sweep_calls()
    small.refresh_from_db()
    assert small.state == "voided"


@pytest.mark.proves("D2")
def test_a_changed_verdict_voids_and_an_unrelated_release_does_not(world: GateWorld) -> None:
    request, _ = world.proposed()
    policy_walk(world.house).published(
        world.refund_policy(version="1.2.0", description="Only words changed.")
    )
    sweep_calls()
    request.refresh_from_db()
    assert request.state == "pending"
    stricter = world.refund_policy(version="1.3.0")
    stricter["rules"][0]["then"]["quorum"] = 2
    policy_walk(world.house).published(stricter)
    sweep_calls()
    request.refresh_from_db()
    assert request.state == "voided"


@pytest.mark.proves("D2", "B19")
def test_a_yes_is_checked_again_before_anything_runs(world: GateWorld, ledger: list[str]) -> None:
    request, call = world.proposed()
    world.agent.is_active = False
    world.agent.save()
    world.vote(request, "fin1")
    request.refresh_from_db()
    call.refresh_from_db()
    assert (request.state, call.state) == ("voided", "rejected")
    assert ledger == []


def test_a_cancelled_call_takes_its_request_with_it(world: GateWorld) -> None:
    request, call = world.proposed()
    answer = world.post(f"{CALLS}/{call.pk}/cancel", {"reason": "The customer changed their mind."})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    request.refresh_from_db()
    assert request.state == "cancelled"
    assert [row["status"] for row in _rows(world, call)] == ["PROPOSED", "CANCELLED"]


def _end(world: GateWorld, request: ApprovalRequest, call: ToolCall, how: str) -> None:
    if how == "consumed":
        world.vote(request, "fin1")
        work_on(call.pk)
    elif how == "rejected":
        world.vote(request, "fin1", "reject")
    elif how == "expired":
        ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        sweep_calls()
    elif how == "voided":
        world.publish_gate(version="1.1.0", deny_threshold=2)
        sweep_calls()
    else:
        world.post(f"{CALLS}/{call.pk}/cancel", {"reason": "The customer changed their mind."})


@pytest.mark.proves("C2", "D4")
@pytest.mark.parametrize("how", ["consumed", "rejected", "expired", "voided", "cancelled"])
def test_every_end_of_a_gated_call_says_what_people_were_asked_and_how_that_ended(
    world: GateWorld, how: str
) -> None:
    request, call = world.proposed()
    _end(world, request, call, how)
    request.refresh_from_db()
    assert request.state == how
    result = world.get(f"{CALLS}/{call.pk}").json()["result"]
    assert result["approval"] == {"gate": GATE, "approval_id": request.pk, "state": how}
    assert _rows(world, call)[-1]["approvals"][0]["approval_id"] == request.pk
    again = world.propose(run={"run_id": call.run_id})
    assert again.json() == {**result, "replayed": True}


def test_a_call_that_no_gate_was_asked_for_tells_of_no_approval(world: GateWorld) -> None:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
    }
    assert "approval" not in world.post(CALLS, body).json()


def test_the_time_people_take_costs_the_run_nothing(world: GateWorld) -> None:
    request, call = world.proposed()
    earlier = timezone.now() - timedelta(hours=5)
    ToolCall.objects.update(created_at=earlier)
    Run.objects.update(created_at=earlier)
    world.vote(request, "fin1")
    assert Run.objects.get(pk=call.run_id).waited_ms >= 5 * 3_600_000


@pytest.mark.proves("C10")
def test_the_run_may_go_on_while_people_are_waited_for(world: GateWorld) -> None:
    request, call = world.proposed()
    earlier = timezone.now() - timedelta(hours=5)  # of one hour of its own
    ToolCall.objects.update(created_at=earlier)
    Run.objects.update(created_at=earlier)
    look = {"capability_id": "orders.lookup", "args": {"order_id": "ord_0001"}}
    assert world.post(CALLS, {"run_id": call.run_id, **look}).status_code == 200
    world.vote(request, "fin1", "reject")
    assert world.post(CALLS, {"run_id": call.run_id, **look}).status_code == 200
    Run.objects.update(waited_ms=0)  # as if nobody had been waited for
    assert world.post(CALLS, {"run_id": call.run_id, **look}).status_code == 429


def test_a_wait_that_is_called_off_costs_the_run_nothing_either(world: GateWorld) -> None:
    _, call = world.proposed()
    ToolCall.objects.update(created_at=timezone.now() - timedelta(hours=5))
    world.post(f"{CALLS}/{call.pk}/cancel", {"reason": "The customer changed their mind."})
    assert Run.objects.get(pk=call.run_id).waited_ms >= 5 * 3_600_000


def test_policy_may_ask_for_more_people_than_the_gate(world: GateWorld) -> None:
    stricter = world.refund_policy(version="1.2.0")
    stricter["rules"][0]["then"]["quorum"] = 2
    policy_walk(world.house).published(stricter)
    request, call = world.proposed()
    world.vote(request, "fin1")
    call.refresh_from_db()
    assert call.state == CallState.PAUSED
    world.vote(request, "fin2")
    call.refresh_from_db()
    assert call.state == CallState.QUEUED


def test_a_gate_nobody_keeps_lets_nothing_pass(world: GateWorld) -> None:
    elsewhere = world.refund_policy(version="1.2.0")
    elsewhere["rules"][0]["then"]["requires_approval_gate"] = "GATE_NOBODY"
    policy_walk(world.house).published(elsewhere)
    answer = world.propose()
    assert (answer.status_code, answer.json()["error"]["code"]) == (
        403,
        "approval.gate_unavailable",
    )


@pytest.mark.proves("D5")
def test_an_agent_can_not_flood_the_queue(world: GateWorld, monkeypatch: Any) -> None:
    monkeypatch.setattr("approvals.opening.PENDING_PER_AGENT", 2)
    run = world.open_run()
    for number in range(2):
        assert world.propose(run=run, key=f"ik_aaaaaaaaaaaaaaa{number}").status_code == 202
    answer = world.propose(run=run, key="ik_bbbbbbbbbbbbbbbb")
    assert (answer.status_code, answer.json()["error"]["code"]) == (
        429,
        "approval.too_many_pending",
    )
    assert answer.headers["Retry-After"]
