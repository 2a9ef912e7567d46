"""Votes given badly: codes, reasons, clocks, stages (D2-D4)."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from django_otp.oath import TOTP

from approvals.models import ApprovalRequest, Vote
from approvals.services import remarks
from approvals.services.requests import escalate_due, expire_due
from approvals.services.votes import withdraw_vote
from audit.decisions import rows_of
from audit.models import AuditEvent
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.identity import second_factor
from contextos.identity.models import TotpDevice
from contextos.identity.models.factors import FREE_SLIPS
from gateway.models import ToolCall
from gateway.sweep import sweep_calls
from tests.approvals.world import GateWorld
from tests.recorded_worlds import ready
from tests.registry.manifests import refunds
from tests.registry.walks import policy_walk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> GateWorld:
    return ready(GateWorld)


def _refused(world: GateWorld, request: ApprovalRequest, *vote: Any, **how: Any) -> ContextOSError:
    with pytest.raises(ContextOSError) as refused:
        world.vote(request, *vote, **how)
    return refused.value


def _code_at(world: GateWorld, name: str, steps: int) -> str:
    device = TotpDevice.objects.get(user=world.approver(name))
    generator = TOTP(device.plain_secret())
    generator.time = time.time() + 30 * steps
    return f"{generator.token():06d}"


def _unthrottled(world: GateWorld, name: str) -> None:
    TotpDevice.objects.filter(user=world.approver(name)).update(
        throttling_failure_count=0, throttling_failure_timestamp=None
    )


# --- codes ---------------------------------------------------------------------------------------
@pytest.mark.proves("D3")
def test_a_code_serves_one_vote(world: GateWorld) -> None:
    run = world.open_run()
    first, _ = world.proposed(run=run)
    second, _ = world.proposed(run=run, key="ik_bbbbbbbbbbbbbbbb")
    code = world.code("fin1")
    world.vote(first, "fin1", code=code)
    assert _refused(world, second, "fin1", code=code).code == "otp.invalid"
    assert not Vote.objects.filter(request=second).exists()


@pytest.mark.proves("D3")
def test_a_code_older_than_its_step_or_than_the_last_used_is_refused(world: GateWorld) -> None:
    run = world.open_run()
    first, _ = world.proposed(run=run)
    second, _ = world.proposed(run=run, key="ik_bbbbbbbbbbbbbbbb")
    with time_machine.travel(timezone.now(), tick=False):
        old = _code_at(world, "fin1", -3)
        assert _refused(world, first, "fin1", code=old).code == "otp.invalid"
        _unthrottled(world, "fin1")
        earlier, present = _code_at(world, "fin1", -1), _code_at(world, "fin1", 0)
        world.vote(first, "fin1", code=present)
        assert _refused(world, second, "fin1", code=earlier).code == "otp.invalid"


@pytest.mark.proves("D3")
def test_wrong_codes_make_the_next_try_wait_although_it_is_right(world: GateWorld) -> None:
    request, _ = world.proposed()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        right = _code_at(world, "fin1", 0)
        wrong = f"{(int(right) + 1) % 1_000_000:06d}"
        for tries in range(1, 7):
            refused = _refused(world, request, "fin1", code=wrong)
            assert refused.code == "otp.invalid"
            assert bool(refused.retry_after_ms) is (tries > FREE_SLIPS)
            assert ("Too many wrong codes" in refused.message) is (tries > FREE_SLIPS)
            clock.shift(timedelta(milliseconds=(refused.retry_after_ms or 0) + 1))
        _refused(world, request, "fin1", code=wrong)
        assert _refused(world, request, "fin1", code=_code_at(world, "fin1", 0)).code == (
            "otp.invalid"
        )
        clock.shift(timedelta(minutes=2))
        world.vote(request, "fin1", code=_code_at(world, "fin1", 0))
    assert Vote.objects.get().verdict == "approve"


@pytest.mark.proves("D3")
@pytest.mark.parametrize(
    "code", ["", "   ", "abcdef", "12345", "１２３４５６", "1234567", "9" * 400]
)
def test_what_is_no_code_is_no_vote(world: GateWorld, code: str) -> None:
    request, _ = world.proposed()
    refused = _refused(world, request, "fin1", code=code)
    assert refused.code == ("otp.invalid" if code.strip() else "otp.required")
    assert not Vote.objects.exists()


@pytest.mark.proves("D3")
def test_a_recovery_code_does_not_vote_and_is_not_used_up(world: GateWorld) -> None:
    user = world.approver("fin1")
    codes = second_factor.issue_recovery_codes(user=user, actor=world.house.actor("admin"))
    request, _ = world.proposed()
    assert _refused(world, request, "fin1", code=codes[0]).code == "otp.invalid"
    assert second_factor.recovery_codes_left(user) == len(codes)


@pytest.mark.proves("D3")
def test_a_person_without_an_app_can_not_approve(world: GateWorld) -> None:
    request, _ = world.proposed()
    TotpDevice.objects.filter(user=world.approver("fin1")).delete()
    assert _refused(world, request, "fin1", code="123456").code == "otp.invalid"


# --- reasons -------------------------------------------------------------------------------------
@pytest.mark.proves("D4")
@pytest.mark.parametrize("verdict", ["approve", "reject"])
@pytest.mark.parametrize(
    "reason", ["", "  \t\n", "\u200b\u200b", "\u202e", "\u3164", "...", "\u00a0"]
)
def test_a_reason_has_to_say_something(world: GateWorld, verdict: str, reason: str) -> None:
    request, _ = world.proposed()
    assert _refused(world, request, "fin1", verdict, reason=reason).code == (
        "approval.reason_missing"
    )


@pytest.mark.proves("D4")
def test_hostile_text_in_a_reason_is_kept_as_text_and_decides_nothing(world: GateWorld) -> None:
    hostile = "<script>alert(1)</script> \u202efdp.exe {{7*7}} ${x} '; DROP TABLE votes; --"
    request, call = world.proposed()
    world.vote(request, "fin1", "reject", reason=hostile)
    assert Vote.objects.get().reason == hostile
    rows = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)
    assert rows[-1]["approvals"][0]["votes"][0]["reason"] == hostile
    event = AuditEvent.objects.get(action="approval.voted", subject_id=request.pk)
    assert strict_json.loads_object(event.text)["reason"] == hostile


# --- clocks --------------------------------------------------------------------------------------
@pytest.mark.proves("D4")
@pytest.mark.parametrize(("skew", "accepted"), [(-300, True), (-1, True), (0, False), (300, False)])
def test_the_servers_clock_alone_ends_a_request(
    world: GateWorld, skew: int, accepted: bool
) -> None:
    """Five minutes before its end a vote counts; at it and after it none does, swept or not."""
    request, call = world.proposed()
    with time_machine.travel(request.expires_at + timedelta(seconds=skew), tick=False):
        if accepted:
            world.vote(request, "fin1")
            call.refresh_from_db()
            assert call.state == "queued"
            return
        assert _refused(world, request, "fin1").code == "approval.not_pending"
        assert expire_due() == 1
        assert _refused(world, request, "fin1").code == "approval.not_pending"
        assert not Vote.objects.exists()


@pytest.mark.proves("D4")
def test_an_expired_request_stays_expired_when_the_clock_is_set_back(world: GateWorld) -> None:
    request, call = world.proposed()
    with time_machine.travel(request.expires_at + timedelta(minutes=5), tick=False):
        sweep_calls()
    assert _refused(world, request, "fin1").code == "approval.not_pending"
    sweep_calls()
    call.refresh_from_db()
    request.refresh_from_db()
    assert (request.state, call.state) == ("expired", "rejected")


@pytest.mark.proves("D1")
def test_a_question_stops_the_clock_but_not_for_ever(world: GateWorld) -> None:
    request, _ = world.proposed()
    where = {"tenant_id": world.tenant_id, "approval_id": request.pk}
    remarks.ask(**where, author=world.approver("fin1"), text="Which customer?")
    with time_machine.travel(request.expires_at + timedelta(minutes=5), tick=False):
        assert expire_due() == 0
    with time_machine.travel(request.created_at + timedelta(days=7, minutes=5), tick=False):
        assert _refused(world, request, "fin1").code == "approval.not_pending"
        assert expire_due() == 1


# --- stages and withdrawal -----------------------------------------------------------------------
@pytest.mark.proves("D1")
def test_stages_pass_one_after_the_other_with_different_people(world: GateWorld) -> None:
    world.group("board", "boss", "fin1")
    stages = [
        {"name": "finance", "groups": ["finance"], "quorum": 1},
        {"name": "board", "groups": ["board"], "quorum": 1},
    ]
    world.publish_gate(version="1.1.0", stages=stages)
    request, call = world.proposed()
    assert _refused(world, request, "boss").code == "approval.not_eligible"
    world.vote(request, "fin1")
    call.refresh_from_db()
    assert call.state == "paused"
    assert _refused(world, request, "fin1").code == "approval.already_voted"
    assert _refused(world, request, "fin2").code == "approval.not_eligible"
    world.vote(request, "boss")
    call.refresh_from_db()
    assert call.state == "queued"


@pytest.mark.proves("D4")
def test_a_rejection_taken_back_leaves_the_quorum_standing(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish_gate(version="1.1.0", deny_threshold=2)
    request, call = world.proposed()
    world.vote(request, "fin2", "reject")
    with monkeypatch.context() as patch:  # the process dies before it can wake the call
        patch.setattr("approvals.wires._waker", lambda: lambda approval_id: None)
        world.vote(request, "fin1")
    where = {"tenant_id": world.tenant_id, "approval_id": request.pk}
    withdraw_vote(**where, approver=world.approver("fin2"))
    request.refresh_from_db()
    assert request.state == "approved"
    sweep_calls()
    call.refresh_from_db()
    assert call.state == "queued"


@pytest.mark.proves("D4")
def test_an_approval_taken_back_before_anything_ran_has_to_be_given_again(
    world: GateWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, call = world.proposed()
    with monkeypatch.context() as patch:
        patch.setattr("approvals.wires._waker", lambda: lambda approval_id: None)
        world.vote(request, "fin1")
    where = {"tenant_id": world.tenant_id, "approval_id": request.pk}
    withdraw_vote(**where, approver=world.approver("fin1"))
    sweep_calls()
    request.refresh_from_db()
    call.refresh_from_db()
    assert (request.state, request.stage, call.state) == ("pending", 0, "paused")
    world.vote(request, "fin1")
    call.refresh_from_db()
    assert call.state == "queued"


@pytest.mark.proves("D2", "C4")
def test_an_amount_decides_how_many_have_to_agree(world: GateWorld) -> None:
    policy = world.refund_policy(version="1.2.0")
    small = policy["rules"][0]
    large = {
        **small,
        "rule_id": "large_refunds_need_two",
        "if": {">": [{"var": "request.args.amount_inr"}, 10000]},
        "then": {**small["then"], "quorum": 2},
    }
    policy_walk(world.house).published({**policy, "rules": [small, large]})
    run = world.open_run()
    modest, _ = world.proposed(run=run, amount=9000)
    great, _ = world.proposed(run=run, amount=11000, key="ik_bbbbbbbbbbbbbbbb")
    world.vote(modest, "fin1")
    world.vote(great, "fin1")
    states = dict(ToolCall.objects.values_list("pk", "state"))
    assert (states[modest.subject_id], states[great.subject_id]) == ("queued", "paused")
    world.vote(great, "fin2")
    assert ToolCall.objects.get(pk=great.subject_id).state == "queued"


@pytest.mark.proves("D2")
def test_people_are_not_left_with_what_a_drained_version_asks(world: GateWorld) -> None:
    """A run keeps its pin; what it asks for after a newer publication is voided by the sweep."""
    run = world.open_run()
    world.house.published(refunds(version="1.1.0", name="Payments, renewed"))
    request, call = world.proposed(run=run)
    sweep_calls()
    request.refresh_from_db()
    call.refresh_from_db()
    assert (request.state, call.state, call.error_code) == (
        "voided",
        "rejected",
        "approval.voided",
    )


@pytest.mark.proves("D1")
def test_those_whom_escalation_brings_in_vote_from_then_on(world: GateWorld) -> None:
    world.group("board", "boss")
    steps = [{"after_seconds": 600, "groups": ["board"]}]
    world.publish_gate(version="1.1.0", escalations=steps)
    request, call = world.proposed()
    assert _refused(world, request, "boss").code == "approval.not_eligible"
    assert escalate_due(request.created_at + timedelta(minutes=9)) == []
    assert escalate_due(request.created_at + timedelta(minutes=11)) == [request.pk]
    assert escalate_due(request.created_at + timedelta(minutes=11)) == []
    world.vote(request, "boss")
    call.refresh_from_db()
    assert call.state == "queued"
