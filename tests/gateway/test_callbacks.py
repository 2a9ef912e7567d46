"""Agents are told of calls that had to wait: signed, once, without arguments or output."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from contextos.identity import services
from contextos.identity.models import Agent
from contextos.net import close_pools
from gateway.callbacks import send_callbacks
from gateway.models import CallbackNotice, ToolCall
from gateway.worker import work_on
from tests.approvals.receivers import SECRET, Receiver, receiver
from tests.approvals.world import GateWorld
from tests.factories import SYSTEM, make_agent, make_member
from tests.gateway.world import GatewayWorld
from tests.identity.signed_in import browser_of
from tests.recorded_worlds import ready

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner"),
]


@pytest.fixture
def inbox() -> Iterator[Receiver]:
    with receiver() as made:
        yield made
    close_pools()


def _update(agent: Agent, **changes: Any) -> Agent:
    values: dict[str, Any] = {
        name: getattr(agent, name)
        for name in ("name", "role", "owner", "max_mode", "agent_urn", "workload_identity")
    }
    return services.update_agent(agent_pk=agent.pk, actor=SYSTEM, **{**values, **changes})


@pytest.fixture
def world(inbox: Receiver) -> GateWorld:
    made = ready(GateWorld)
    _update(made.agent, callback_url=inbox.url, callback_secret=SECRET)
    return made


def test_an_agent_is_told_once_when_its_gated_call_has_run(
    world: GateWorld, inbox: Receiver
) -> None:
    request, call = world.proposed(amount=3917)
    send_callbacks()
    assert inbox.requests == []
    world.vote(request, "fin1")
    work_on(call.pk)
    assert send_callbacks() == 1
    send_callbacks()
    (told,) = inbox.requests
    assert told.is_signed_with(SECRET)
    data = told.json["data"]
    assert (told.json["type"], data["tool_call_id"], data["status"]) == (
        "tool_call.ended",
        call.pk,
        "ok",
    )
    assert data["run_id"] == call.run_id
    assert data["decision_id"] == call.decision_id
    assert data["approval"] == {
        "gate": request.gate_id,
        "approval_id": request.pk,
        "state": "consumed",
    }
    for value in (b"3917", b"txn_4200", b"rfd_", SECRET.encode()):
        assert value not in told.bytes


def test_an_agent_is_told_that_people_said_no(world: GateWorld, inbox: Receiver) -> None:
    request, _ = world.proposed()
    world.vote(request, "fin1", "reject", reason="markerreason")
    send_callbacks()
    (told,) = inbox.requests
    assert told.json["data"]["status"] == "rejected"
    assert b"markerreason" not in told.bytes


def test_an_agent_is_told_of_work_that_took_long(inbox: Receiver) -> None:
    world = ready(GatewayWorld, with_work=True)
    _update(world.agent, callback_url=inbox.url, callback_secret=SECRET)
    run = world.open_run()
    answer = world.post(
        "/api/v1/tool-calls",
        {
            "run_id": run["run_id"],
            "capability_id": "reports.build",
            "args": {"kind": "plain"},
        },
    )
    assert answer.status_code == 202, answer.content
    call = ToolCall.objects.get()
    for _ in range(20):
        ToolCall.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
        work_on(call.pk)
        call.refresh_from_db()
        if call.finished_at:
            break
    send_callbacks()
    assert [told.json["data"]["tool_call_id"] for told in inbox.requests] == [call.pk]


def test_a_quick_call_needs_no_callback(world: GateWorld, inbox: Receiver) -> None:
    run = world.open_run()
    answer = world.post(
        "/api/v1/tool-calls",
        {"run_id": run["run_id"], "capability_id": "orders.lookup", "args": {"order_id": "A-1"}},
    )
    assert answer.status_code != 202
    assert not CallbackNotice.objects.exists()


def test_a_receiver_that_fails_is_tried_again(world: GateWorld, inbox: Receiver) -> None:
    inbox.answers = [500]
    request, _ = world.proposed()
    world.vote(request, "fin1", "reject")
    assert send_callbacks() == 0
    row = CallbackNotice.objects.get()
    assert (row.attempts, row.last_error) == (1, "127.0.0.1 answered 500.")
    assert row.due_at > timezone.now()
    assert send_callbacks(timezone.now() + timedelta(minutes=1)) == 1
    assert len({told.headers["webhook-id"] for told in inbox.requests}) == 1


def test_an_agent_without_address_is_not_told(world: GateWorld, inbox: Receiver) -> None:
    request, _ = world.proposed()
    _update(world.agent, callback_url="")
    world.vote(request, "fin1", "reject")
    send_callbacks()
    assert inbox.requests == []
    assert "no callback address" in CallbackNotice.objects.get().last_error


@pytest.mark.proves("C11")
def test_production_calls_no_private_address(world: GateWorld, inbox: Receiver) -> None:
    request, _ = world.proposed()
    world.vote(request, "fin1", "reject")
    with override_settings(CONTEXTOS_ENV="production"):
        Agent.objects.update(callback_url="https://localhost/x")
        send_callbacks()
        with pytest.raises(ContextOSError):
            _update(world.agent, callback_url="https://10.0.0.1/x")
    assert inbox.requests == []
    assert "not a public address" in CallbackNotice.objects.get().last_error


def test_an_address_needs_a_secret_and_the_log_holds_neither_path_nor_secret(
    inbox: Receiver,
) -> None:
    world = ready(GatewayWorld)
    agent = make_agent(world.house.tenant)
    with pytest.raises(ContextOSError) as refused:
        _update(agent, callback_url=inbox.url)
    assert refused.value.code == "agent.callback_unsigned"
    _update(agent, callback_url=inbox.url, callback_secret=SECRET)
    agent.refresh_from_db()
    assert SECRET.encode() not in bytes(agent.sealed_callback_secret or b"")
    event = AuditEvent.objects.filter(action="identity.agent.changed").latest("event_id")
    told = event.text
    assert "127.0.0.1" in told
    assert "hooks/in" not in told
    assert SECRET not in told


def test_the_agents_page_takes_a_secret_and_never_shows_it(inbox: Receiver) -> None:
    world = ready(GatewayWorld)
    agent = make_agent(world.house.tenant)
    browser: Client = browser_of(make_member(world.house.tenant, "platform_admin"), agent.tenant)
    page = reverse("admin:identity_agent_change", args=[agent.pk])
    form = {
        "name": "Renamed",
        "role": agent.role,
        "owner": agent.owner_id,
        "max_mode": agent.max_mode,
        "callback_url": inbox.url,
    }
    refused = browser.post(page, form)
    assert "needs a secret" in refused.text
    answer = browser.post(page, {**form, "callback_secret": SECRET})
    assert answer.status_code == 302
    shown = browser.get(page).text
    assert SECRET not in shown
    assert "sha256 " in shown
    assert browser.post(page, {**form, "name": "Again"}).status_code == 302  # the secret stays
    agent.refresh_from_db()
    assert agent.sealed_callback_secret is not None
    reader = browser_of(make_member(world.house.tenant, "auditor"), agent.tenant)
    seen = reader.get(page).text
    assert "127.0.0.1" in seen
    assert "hooks/in" not in seen
