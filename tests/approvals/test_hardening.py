"""Holes in what people are shown and asked, found by a hostile review, each closed."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.services.remarks import answer, ask
from approvals.services.requests import LONGEST_PAUSE, expire_due
from approvals.states import RequestState
from audit.decisions import rows_of
from contextos.core.errors import ContextOSError
from gateway.amounts import amount_in
from gateway.models import ToolCall
from gateway.resume import approval_decided
from gateway.states import CallState
from tests.approvals.world import CALLS, KEY, GateWorld
from tests.recorded_worlds import ready


@pytest.mark.proves("D2")
@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"amount": 1, "total_inr": 9000}, (Decimal("9000.00"), "INR")),
        ({"total_inr": 9000, "amount": 1}, (Decimal("9000.00"), "INR")),
        ({"amount": 5, "currency": "EUR"}, (Decimal("5.00"), "EUR")),
        ({"amount": 1e300}, (None, "")),
        ({"amount": True, "note": 7}, (None, "")),
    ],
)
def test_the_amount_people_see_does_not_depend_on_how_an_agent_writes_it(
    args: dict[str, Any], shown: tuple[Decimal | None, str]
) -> None:
    assert amount_in(args) == shown


@pytest.mark.django_db
@pytest.mark.proves("E1")
def test_a_request_keeps_no_hash_from_which_arguments_could_be_guessed() -> None:
    world = ready(GateWorld)
    request, call = world.proposed()
    record = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)[0]
    kept = request.view["policy"]["inputs_hash"]
    assert kept == record["policy_decision"]["inputs_hash"], "over the salted commitment"


@pytest.mark.django_db
@pytest.mark.proves("C6", "D4")
def test_a_yes_does_not_run_what_was_asked_for_somebody_who_left_the_tenant() -> None:
    world = ready(GateWorld)
    name = {"delegation": world.user_token}
    run = world.post("/api/v1/runs", world.run_body(), **name).json()
    body = {
        "run_id": run["run_id"],
        "capability_id": "payments.issue_refund",
        "args": {"transaction_id": "txn_4200", "amount_inr": 4200},
        "idempotency_key": KEY,
    }
    answer = world.post(CALLS, body, **name)
    request = ApprovalRequest.objects.get(subject_id=answer.json()["tool_call_id"])
    person = world.house.user("service")
    person.memberships.update(valid_until=timezone.now() - timedelta(seconds=1))
    person.refresh_from_db()
    assert person.is_active, "the account itself goes on, elsewhere"
    world.vote(request, "fin1")
    request.refresh_from_db()
    assert request.state in (RequestState.APPROVED, RequestState.VOIDED)
    approval_decided(request.pk)
    approval_decided(request.pk)
    request.refresh_from_db()
    assert (request.state, request.void_reason) == (
        RequestState.VOIDED,
        "The person it acted for is gone.",
    )
    assert ToolCall.objects.get().state == CallState.REJECTED


@pytest.mark.django_db
@pytest.mark.proves("D1")
def test_questions_keep_a_request_alive_for_a_week_in_all_and_not_for_ever() -> None:
    world = ready(GateWorld)
    request, _ = world.proposed()
    said = {"tenant_id": world.tenant_id, "approval_id": request.pk, "text": "Which customer?"}
    expires_at, keeper = request.expires_at, world.approver("fin1")
    ask(author=keeper, **said)
    month_ago = timezone.now() - timedelta(days=30)
    ApprovalRequest.objects.filter(pk=request.pk).update(question_since=month_ago)
    answer(author=keeper, **said)
    request.refresh_from_db()
    assert request.expires_at == expires_at + LONGEST_PAUSE
    ask(author=keeper, **said)
    request.refresh_from_db()
    assert not request.question_open, "the clock goes on; the question stands there all the same"
    assert request.remarks.count() == 3


@pytest.mark.django_db
@pytest.mark.proves("D1")
def test_a_second_question_stops_the_clock_only_for_what_the_first_left_of_the_week() -> None:
    world = ready(GateWorld)
    request, _ = world.proposed()
    now, spent = timezone.now(), LONGEST_PAUSE - timedelta(hours=1)
    asked = ApprovalRequest.objects.filter(pk=request.pk)
    asked.update(
        paused_ms=int(spent.total_seconds() * 1000),
        question_open=True,
        question_since=now - timedelta(minutes=30),
        expires_at=now - timedelta(minutes=10),
    )
    assert expire_due(now) == 0, "half of the hour that was left is over"
    asked.update(question_since=now - timedelta(hours=2))
    with pytest.raises(ContextOSError, match="expired"):
        world.vote(asked.get(), "fin1")
    assert expire_due(now) == 1
    assert asked.get().state == RequestState.EXPIRED
