"""What the client sends: exactly what it was told, and never a token where it does not belong."""

from __future__ import annotations

from typing import Any

import pytest

from contextos_client import Client, Unreachable, new_key
from tests.client.gateways import TRACE, client_of, raw, result, says, scripted

RUN: dict[str, Any] = {
    "run_id": "run_00000000000000000000000001",
    "trace_id": "0" * 31 + "1",
    "tenant_id": "tenant_acme_prod",
    "user": None,
    "agent": {"agent_id": "agent_1", "role": "support_agent"},
    "principal_chain": [{"kind": "agent", "id": "agent_1", "tenant_id": "tenant_acme_prod"}],
    "intent": "support.refund",
    "context_pack_refs": ["support_refund@1.0.0"],
    "environment": "development",
    "session_id": None,
    "safety_mode": "destructive",
    "run_budget": {
        "max_calls": 100,
        "max_cost_cents": 0,
        "max_wall_ms": 1000,
        "expires_at": "2026-11-01T00:00:00Z",
    },
    "context": {},
    "pins": {"adp_orders": "1.0.0"},
}


def test_only_what_was_given_is_sent() -> None:
    with scripted(says(RUN, 201), says(result())) as script:
        client = client_of(script)
        run = client.open_run("tenant_acme_prod", "support.refund", run_budget={"max_calls": 5})
        client.call(run, "orders.lookup", {"order_id": "ord_1001"}, evidence_refs=["ev_1"])
    assert script.bodies == [
        {
            "tenant_id": "tenant_acme_prod",
            "intent": "support.refund",
            "run_budget": {"max_calls": 5},
        },
        {
            "run_id": run.run_id,
            "capability_id": "orders.lookup",
            "args": {"order_id": "ord_1001"},
            "evidence_refs": ["ev_1"],
        },
    ]


def test_the_client_never_makes_a_key_up() -> None:
    with scripted(says(result())) as script:
        client_of(script).call("run_1", "notes.add", {})
    assert "idempotency_key" not in script.bodies[0]


def test_tokens_travel_in_their_headers_and_nowhere_else() -> None:
    with scripted(says(result())) as script:
        Client(script.url, "the-agent\n", user_token="the-person").call("run_1", "a.b", {})
    headers = script.headers()
    assert headers["authorization"] == "Bearer the-agent"
    assert headers["x-user-delegation"] == "the-person"
    assert script.requests[0].count(b"the-agent") == script.requests[0].count(b"the-person") == 1


def test_a_trace_is_passed_on_and_the_echo_is_exposed() -> None:
    with scripted(says(result())) as script:
        answer = client_of(script).call("run_1", "a.b", {}, traceparent=TRACE)
    assert script.headers()["traceparent"] == TRACE
    assert answer.traceparent == TRACE


def test_an_id_can_not_lead_to_another_path() -> None:
    with scripted(says({"call": {}, "result": result()})) as script:
        client_of(script).get_call("../runs/x?y#z")
    assert script.requests[0].startswith(b"GET /api/v1/tool-calls/..%2Fruns%2Fx%3Fy%23z HTTP")


def test_a_gateway_behind_a_path_is_reached_there() -> None:
    with scripted(says(result())) as script:
        Client(f"{script.url}/contextos/", "token").call("run_1", "a.b", {})
    assert script.requests[0].startswith(b"POST /contextos/api/v1/tool-calls HTTP")


@pytest.mark.parametrize("token", ["", "  ", "two words", "line\nbreak", "ünicode"])
def test_a_token_that_is_none_is_named_but_not_shown(token: str) -> None:
    with pytest.raises(ValueError, match="agent_token") as caught:
        Client("http://127.0.0.1:1", token)
    assert token.strip() == "" or token not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://host", "http://", "http://name:pass@host", "http://host/?a=b"]
)
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        Client(url, "token")


def test_a_client_does_not_show_its_tokens() -> None:
    client = Client("http://127.0.0.1:1", "the-agent", user_token="the-person")
    assert "the-agent" not in repr(client)
    assert "the-person" not in repr(vars(client)["_wire"])


def test_a_value_json_does_not_know_never_leaves() -> None:
    with scripted(says(result())) as script, pytest.raises(ValueError, match="JSON"):
        client_of(script).call("run_1", "a.b", {"amount": float("nan")})
    assert script.requests == []


def test_a_key_fits_the_pattern_of_the_demo_and_is_never_the_same() -> None:
    keys = {new_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert all(len(key) == 19 and key.startswith("ik_") for key in keys)
    assert set("".join(key[3:] for key in keys)) <= set("abcdefghijklmnopqrstuvwxyz0123456789")


def test_a_redirect_is_not_followed() -> None:
    moved = says({}, 302, "Location: http://127.0.0.1:1/\r\n")
    with scripted(moved) as script, pytest.raises(Unreachable, match="never redirects"):
        client_of(script, attempts=1).call("run_1", "a.b", {})


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextos_client.wire.MAX_ANSWER_BYTES", 1000)
    body = b'{"a":"' + b"x" * 100_000 + b'"}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    with scripted(raw(head + body)) as script, pytest.raises(Unreachable, match="larger"):
        client_of(script, attempts=1).call("run_1", "a.b", {})
