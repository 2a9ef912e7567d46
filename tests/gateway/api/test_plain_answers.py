"""A proposal as nearly everybody sends it is answered past DRF: word for word as with it (C2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, RequestFactory

from gateway.api.plain_proposals import is_plain_post
from tests.gateway.world import CALLS, GatewayWorld
from tests.recorded_worlds import ready

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("function_runner")]
WEIGHED = "application/json;q=0.9"  # has to be negotiated, so that DRF answers


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld)


def _both(world: GatewayWorld, body: Any, **headers: str) -> tuple[Any, Any]:
    given = {"Authorization": f"Bearer {world.agent_token}", **headers}
    given = {name: value for name, value in given.items() if value}
    sent = {"data": body, "content_type": "application/json"}
    plain = Client().post(CALLS, headers=given, **sent)
    return plain, Client().post(CALLS, headers={**given, "Accept": WEIGHED}, **sent)


_OWN = {"tool_call_id", "trace_id", "policy_decision_id", "decision_id", "latency_ms"}


def _same(answer: Any) -> Any:
    """The answer without what differs from call to call."""
    if isinstance(answer, dict):
        told = {name: value for name, value in answer.items() if name not in _OWN}
        told["evidence_refs"] = len(told.get("evidence_refs") or ())
        return {name: _same(value) for name, value in told.items()}
    return answer


def _headers(answer: Any) -> dict[str, str]:
    own = {"X-Request-ID", "traceparent", "baggage", "Content-Length"}
    return {name: value for name, value in answer.items() if name not in own}


def test_which_proposals_are_plain() -> None:
    make = RequestFactory()

    def plain(method: str = "post", path: str = CALLS, **how: Any) -> bool:
        asked = {"data": b"{}", "content_type": "application/json", **how}
        return is_plain_post(getattr(make, method)(path, **asked))

    assert plain()
    assert plain(headers={"Accept": "*/*"})
    assert plain(headers={"Accept": "application/json"})
    assert not plain(headers={"Accept": WEIGHED})
    assert not plain(headers={"Accept": "text/html"})
    assert not plain(content_type="application/json; charset=utf-8")
    assert not plain(content_type="text/plain")
    assert not plain(path=f"{CALLS}?format=json")
    assert not plain(method="put")


@pytest.mark.proves("C2")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"args": {"order_id": "ord_0404"}},
        {"args": {"order_id": 7}},
        {"capability_id": "orders.unknown"},
        {"run_id": "run_unknown"},
        {"surprise": True},
        {"args": {"order_id": "ord_0001", "n": 2**53 + 1}},
    ],
    ids=["ok", "tool says no", "schema", "unknown", "no run", "shape", "integer"],
)
def test_both_ways_answer_alike(world: GatewayWorld, changes: dict[str, Any]) -> None:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
        **changes,
    }
    plain, weighed = _both(world, body)
    assert plain.status_code == weighed.status_code
    assert _same(plain.json()) == _same(weighed.json())
    assert _headers(plain) == _headers(weighed)
    assert plain.has_header("baggage") is weighed.has_header("baggage")


def test_an_empty_body_is_drfs_to_name(world: GatewayWorld) -> None:
    headers = {"Authorization": f"Bearer {world.agent_token}"}
    sent = Client().generic("POST", CALLS, b"", content_type="application/json", headers=headers)
    assert (sent.status_code, sent.json()["error"]["code"]) == (400, "request.invalid")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"a":1,"a":2}', b"\xff", b'{"a":NaN}'])
def test_a_body_that_is_no_json_object_is_named_alike(world: GatewayWorld, body: bytes) -> None:
    plain, weighed = _both(world, body)
    assert plain.status_code == weighed.status_code == 400
    assert _same(plain.json()) == _same(weighed.json())


@pytest.mark.parametrize(
    "header",
    ["", "Basic abc", "Bearer", "Bearer not.a.token"],
    ids=["none", "basic", "bare", "bad"],
)
def test_without_a_good_token_both_say_so_before_they_look_at_the_body(
    world: GatewayWorld, header: str
) -> None:
    plain, weighed = _both(world, b"{", Authorization=header)
    assert plain.status_code == weighed.status_code == 401
    assert _same(plain.json()) == _same(weighed.json())
    assert plain["WWW-Authenticate"] == weighed["WWW-Authenticate"]


def test_a_person_alone_is_refused_alike(world: GatewayWorld) -> None:
    plain, weighed = _both(world, b"{}", Authorization=f"Bearer {world.user_token}")
    assert plain.status_code == weighed.status_code
    assert _same(plain.json()) == _same(weighed.json())


def test_a_body_beyond_the_bound_is_refused_alike(world: GatewayWorld) -> None:
    body = b'{"run_id":"' + b"x" * (1024 * 1024) + b'"}'
    plain, weighed = _both(world, body)
    assert plain.status_code == weighed.status_code
    assert _same(plain.json()) == _same(weighed.json())
