"""Every kind of answer carries the caller's trace, and answers about a call name it (C8)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from audit.decisions import rows_of
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C8")]
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CALLS = "/api/v1/tool-calls"


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld)


def _propose(world: GatewayWorld, **changes: Any) -> Any:
    run = world.open_run()
    call = {"run_id": run["run_id"], "capability_id": "orders.lookup"}
    body = {**call, "args": {"order_id": "ord_1001"}, **changes}
    return world.post(CALLS, body, traceparent=TRACEPARENT)


REFUSALS: dict[str, tuple[dict[str, Any], int]] = {
    "unknown run": ({"run_id": "run_nobody"}, 404),
    "unknown capability": ({"capability_id": "orders.burn"}, 404),
    "bad arguments": ({"args": {"order_id": 7}}, 422),
    "unknown member": ({"surprise": 1}, 400),
}


@pytest.mark.parametrize(("changes", "status"), REFUSALS.values(), ids=REFUSALS)
def test_a_refused_call_echoes_the_trace(
    world: GatewayWorld, changes: dict[str, Any], status: int
) -> None:
    answer = _propose(world, **changes)
    assert answer.status_code == status, answer.content
    assert answer["traceparent"] == TRACEPARENT


def test_a_refusal_that_was_recorded_names_run_and_decision(world: GatewayWorld) -> None:
    answer = _propose(world, args={"order_id": 7})
    told = dict(part.split("=") for part in answer["baggage"].split(","))
    assert told == {name: answer.json()[name] for name in ("run_id", "decision_id")}


def _spans(world: GatewayWorld, traceparent: str) -> tuple[str, set[Any]]:
    run = world.open_run()
    same = traceparent.replace("TRACE", run["trace_id"])
    body = {"run_id": run["run_id"], "capability_id": "orders.lookup"}
    answer = world.post(CALLS, body | {"args": {"order_id": "ord_1001"}}, traceparent=same).json()
    rows = rows_of(tenant_id=world.tenant_id, decision_id=answer["decision_id"])
    assert {row["trace_id"] for row in rows} == {run["trace_id"]}
    return run["trace_id"], {row["span_id"] for row in rows}


def test_the_record_says_in_which_span_of_its_trace_the_call_was_proposed(
    world: GatewayWorld,
) -> None:
    _, (span,) = _spans(world, "00-TRACE-b7ad6b7169203331-01")
    assert re.fullmatch(r"[0-9a-f]{16}", span)
    assert span != "b7ad6b7169203331", "the caller's span is its parent, not the call's own"
    _, other = _spans(world, TRACEPARENT)
    assert other == {None}, "a span of another trace would point nowhere"


def test_who_is_not_known_gets_the_trace_and_no_baggage(world: GatewayWorld) -> None:
    answer = world.post(CALLS, {}, token="not.a.token", traceparent=TRACEPARENT)
    assert answer.status_code == 401
    assert answer["traceparent"] == TRACEPARENT
    assert not answer.has_header("baggage")


OTHERS = {
    "malformed JSON": ("post", CALLS, 401),
    "no such address": ("get", "/api/v1/nowhere", 404),
    "wrong method": ("delete", "/api/schema", 405),
    "a person's page": ("get", "/admin/", 302),
    "a probe": ("get", "/healthz", 200),
    "a schema": ("get", "/schemas/tool-call.v1.schema.json", 200),
}


@pytest.mark.parametrize(("method", "address", "status"), OTHERS.values(), ids=OTHERS)
def test_every_other_answer_does_too(method: str, address: str, status: int) -> None:
    client = Client(raise_request_exception=False)
    body = {"data": "{", "content_type": "application/json"} if method == "post" else {}
    answer = getattr(client, method)(address, headers={"traceparent": TRACEPARENT}, **body)
    assert answer.status_code == status
    assert answer["traceparent"] == TRACEPARENT
