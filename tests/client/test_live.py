"""The client against the real gateway over real HTTP: runs, reads, replays, refusals, traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from contextos_client import (
    Client,
    ContextOSError,
    ErrorKind,
    InvalidCall,
    NotAccepted,
    Refused,
    RunContext,
    Status,
    TooMany,
    new_key,
)
from tests.client.gateways import TRACE
from tests.gateway.world import INTENT, GatewayWorld

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("function_runner")]
ORDER = {"order_id": "ord_0001"}


def _open(client: Client, world: GatewayWorld, **members: Any) -> RunContext:
    return client.open_run(world.tenant_id, INTENT, environment="production", **members)


@pytest.mark.proves("C2")
def test_a_run_its_manifest_a_read_and_both_envelopes(client: Client, world: GatewayWorld) -> None:
    run = _open(client, world)
    manifest = client.tool_manifest(run)
    found = manifest.find("orders.lookup")
    assert found is not None
    assert found.input_schema["type"] == "object"
    assert found.requires_idempotency_key is False
    assert manifest.find("payments.issue_refund") is None
    result = client.call(run, "orders.lookup", ORDER)
    assert (result.status, result.output["status"]) == (Status.OK, "delivered")
    assert result.evidence_refs[0].startswith("ev_")
    record = client.get_call(result)
    assert record.call["args"] == ORDER
    assert record.result is not None
    assert record.result.raw == result.raw
    assert client.wait_for(result, seconds=5).raw == result.raw


def test_a_run_in_the_name_of_a_person_says_so(
    world: GatewayWorld, live_server: LiveServer
) -> None:
    client = Client(live_server.url, world.agent_token, user_token=world.user_token)
    run = _open(client, world)
    assert [link.kind for link in run.principal_chain] == ["user", "agent"]
    assert run.user is not None


@pytest.mark.proves("C9")
def test_the_same_key_is_answered_from_the_record(
    client: Client, world: GatewayWorld, ledger: list[str]
) -> None:
    run, key = _open(client, world), new_key()
    first = client.call(run, "orders.lookup", ORDER, idempotency_key=key)
    again = client.call(run, "orders.lookup", ORDER, idempotency_key=key)
    assert (first.replayed, again.replayed) == (False, True)
    assert again.tool_call_id == first.tool_call_id
    assert len(ledger) == 1


def test_a_tool_that_says_no_is_a_result(client: Client, world: GatewayWorld) -> None:
    result = client.call(_open(client, world), "orders.lookup", {"order_id": "ord_0404"})
    assert result.status is Status.FAILED
    assert result.error is not None
    assert result.error.code == "ORDER_NOT_FOUND"


Act = Callable[[Client, GatewayWorld], Any]
REFUSALS: list[tuple[str, Act, type[ContextOSError], str]] = [
    (
        "unknown capability",
        lambda c, w: c.call(_open(c, w), "orders.delete", {}),
        Refused,
        "capability.unknown",
    ),
    ("unknown run", lambda c, w: c.call("run_x", "orders.lookup", ORDER), Refused, "run.unknown"),
    ("unknown call", lambda c, w: c.get_call("tool_x"), Refused, "call.unknown"),
    (
        "arguments off the schema",
        lambda c, w: c.call(_open(c, w), "orders.lookup", {"order_id": "ord_1\n"}),
        InvalidCall,
        "args.schema",
    ),
    (
        "an integer beyond 2^53",
        lambda c, w: c.call(_open(c, w), "orders.lookup", {"n": 2**53 + 1}),
        InvalidCall,
        "json.integer_too_large",
    ),
    (
        "a lone surrogate",
        lambda c, w: c.call(_open(c, w), "orders.lookup", {"order_id": "\ud800"}),
        InvalidCall,
        "json.unstorable",
    ),
    (
        "a mode that is none",
        lambda c, w: c.call(_open(c, w), "orders.lookup", ORDER, approval_mode_requested="bold"),
        InvalidCall,
        "request.invalid",
    ),
    (
        "a foreign tenant",
        lambda c, w: c.open_run("tenant_other", INTENT),
        Refused,
        "auth.tenant_mismatch",
    ),
    ("no pack", lambda c, w: c.open_run(w.tenant_id, "other.intent"), Refused, "run.no_pack"),
]


@pytest.mark.proves("C13")
@pytest.mark.parametrize(
    ("act", "kind", "code"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_each_refusal_of_the_real_gateway_arrives_as_its_exception(
    client: Client,
    world: GatewayWorld,
    ledger: list[str],
    act: Act,
    kind: type[ContextOSError],
    code: str,
) -> None:
    with pytest.raises(ContextOSError) as caught:
        act(client, world)
    assert (type(caught.value), caught.value.code) == (kind, code)
    assert caught.value.message
    assert caught.value.remediation
    assert caught.value.traceparent
    assert ledger == []


@pytest.mark.proves("C13")
def test_a_key_with_other_arguments_is_invalid_and_says_so(
    client: Client, world: GatewayWorld
) -> None:
    run, key = _open(client, world), new_key()
    client.call(run, "orders.lookup", ORDER, idempotency_key=key)
    with pytest.raises(InvalidCall) as caught:
        client.call(run, "orders.lookup", {"order_id": "ord_0002"}, idempotency_key=key)
    assert caught.value.code == "idempotency.conflict"
    assert caught.value.result is not None
    assert caught.value.result.decision_id


def test_a_run_past_its_budget_is_too_many(client: Client, world: GatewayWorld) -> None:
    run = _open(client, world, run_budget={"max_calls": 1})
    assert client.call(run, "orders.lookup", ORDER).ok
    with pytest.raises(TooMany) as caught:
        client.call(run, "orders.lookup", ORDER)
    assert caught.value.kind is ErrorKind.BUDGET


def test_a_token_nobody_issued_is_not_accepted(
    world: GatewayWorld, live_server: LiveServer
) -> None:
    stranger = Client(live_server.url, "not.a.token")
    with pytest.raises(NotAccepted) as caught:
        stranger.open_run(world.tenant_id, INTENT)
    assert caught.value.kind is ErrorKind.AUTH


def test_the_trace_of_the_caller_comes_back(client: Client, world: GatewayWorld) -> None:
    run = _open(client, world, traceparent=TRACE)
    assert run.traceparent == TRACE
    assert run.trace_id == TRACE.split("-")[1]
    assert client.call(run, "orders.lookup", ORDER, traceparent=TRACE).traceparent == TRACE
