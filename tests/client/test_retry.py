"""Safe repetition: the same bytes with the same key, and only where that can't do harm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contextos_client import (
    Client,
    ContextOSError,
    KeyInFlight,
    TooMany,
    Unavailable,
    Unreachable,
    new_key,
)
from tests.client.gateways import (
    FakeTime,
    Step,
    client_of,
    drops,
    hangs,
    problem,
    raw,
    result,
    says,
    scripted,
)

GARBAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"
NOT_HTTP = b"SSH-2.0-OpenSSH_9.2\r\n"
CUT_SHORT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
BUSY = says(result("failed", kind="internal", code="record.unavailable"), 503)
RATE = says(result("failed", kind="rate_limited"), 429, "Retry-After: 1\r\n")
CUT_OFF: list[Step] = [drops, raw(GARBAGE), raw(NOT_HTTP), BUSY]
DONE = says(result())


def _write(client: Client) -> Any:
    return client.call("run_1", "notes.add", {"text": "x"}, idempotency_key=new_key())


@pytest.mark.proves("C9")
@pytest.mark.parametrize("fault", CUT_OFF, ids=["drops", "html", "not-http", "503"])
def test_a_lost_answer_is_asked_for_again_with_the_same_key_and_bytes(fault: Step) -> None:
    with scripted(fault, fault, DONE) as script:
        assert _write(client_of(script)).ok
    assert len(script.requests) == 3
    assert len(set(script.requests)) == 1
    assert script.bodies[0]["idempotency_key"].startswith("ik_")


@pytest.mark.proves("C9")
def test_patience_ends_and_the_last_fault_is_raised_without_a_further_try() -> None:
    with scripted(drops) as script, pytest.raises(Unreachable):
        _write(client_of(script))
    assert len(script.requests) == 3
    assert len({body["idempotency_key"] for body in script.bodies}) == 1


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    def breaks_off(call: Any) -> None:
        call.send(CUT_SHORT)
        raise ConnectionResetError

    with scripted(breaks_off, DONE) as script:
        assert _write(client_of(script)).ok
    assert len(set(script.requests)) == 1


def test_a_gateway_that_says_nothing_is_given_up_in_time() -> None:
    with scripted(hangs) as script, pytest.raises(Unreachable, match="timed out"):
        _write(client_of(script, attempts=1, timeout=0.2))


def test_a_gateway_that_drips_is_given_up_in_time() -> None:
    def drips(call: Any) -> None:
        call.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n"
        )
        call.drip(b" " * 9999, every=0.02)

    with scripted(drips) as script, pytest.raises(Unreachable, match="too long"):
        _write(client_of(script, attempts=1, timeout=0.2))


def test_nobody_listening_is_unreachable() -> None:
    with scripted(DONE) as script:
        client = client_of(script)
    with pytest.raises(Unreachable):
        client.tool_manifest("run_1")


@pytest.mark.proves("C9")
@pytest.mark.parametrize(
    "step",
    [
        RATE,
        says(result("failed", kind="internal"), 500),
        says(result("rejected", kind="policy"), 403),
        says(result("failed", kind="idempotency", code="idempotency.in_flight"), 409),
        says(problem(503, "internal", "call.needs_worker", retryable=False), 503),
    ],
    ids=["429", "500", "403", "409", "503-for-good"],
)
def test_any_other_answer_is_never_followed_by_a_repetition(step: Step) -> None:
    with scripted(step, DONE) as script, pytest.raises(ContextOSError):
        _write(client_of(script))
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "act",
    [
        lambda client: client.open_run("tenant", "intent"),
        lambda client: client.cancel("tool_1", "No longer wanted."),
        lambda client: client.give_input("tool_1", {"period": "2026-10"}),
    ],
    ids=["open_run", "cancel", "give_input"],
)
@pytest.mark.parametrize("fault", [drops, BUSY], ids=["drops", "503"])
def test_what_has_an_effect_but_no_key_is_sent_once(
    act: Callable[[Client], Any], fault: Step
) -> None:
    with scripted(fault, DONE) as script, pytest.raises((Unreachable, Unavailable)):
        act(client_of(script))
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("act", "answer"),
    [
        (lambda client: client.call("run_1", "orders.lookup", {}), result()),
        (lambda client: client.get_call("tool_1"), {"call": {}, "result": result()}),
        (
            lambda client: client.tool_manifest("run_1"),
            {"run_id": "run_1", "pack_refs": [], "capabilities": [], "hash": "sha256:0"},
        ),
        (lambda client: client.verify_plan("run_1", {}), {"verdict": "ok", "findings": []}),
    ],
    ids=["call-without-key", "get_call", "tool_manifest", "verify_plan"],
)
def test_what_only_reads_is_repeated_freely(
    act: Callable[[Client], Any], answer: dict[str, Any]
) -> None:
    with scripted(drops, BUSY, says(answer)) as script:
        act(client_of(script))
    assert len(script.requests) == 3


@pytest.mark.proves("C9")
def test_after_a_lost_answer_a_key_in_flight_is_our_own_and_is_waited_for() -> None:
    in_flight = says(result("failed", kind="idempotency", code="idempotency.in_flight"), 409)
    with scripted(drops, in_flight, says(result(replayed=True))) as script:
        assert _write(client_of(script)).replayed
    assert len(set(script.requests)) == 1
    with scripted(drops, in_flight) as script, pytest.raises(KeyInFlight):
        _write(client_of(script))


def test_pauses_grow_and_follow_the_gateway_where_it_asks() -> None:
    time = FakeTime()
    asking = says(result("failed", kind="circuit_open"), 503, "Retry-After: 3\r\n")
    with scripted(drops, drops, asking, DONE) as script:
        _write(client_of(script, time, attempts=4))
    first, second, asked = time.pauses
    assert first < second
    assert asked == 3


def test_a_pause_longer_than_our_patience_is_left_to_the_caller() -> None:
    resting = says(result("failed", kind="circuit_open"), 503, "Retry-After: 60\r\n")
    with scripted(resting, DONE) as script, pytest.raises(Unavailable) as caught:
        _write(client_of(script))
    assert caught.value.retry_after == 60
    assert len(script.requests) == 1


def test_a_kept_connection_that_was_closed_meanwhile_is_no_fault() -> None:
    def answers_and_leaves(call: Any) -> None:
        DONE(call)
        raise ConnectionResetError

    with scripted(answers_and_leaves) as script:
        client = client_of(script, attempts=1)
        assert client.call("run_1", "orders.lookup", {}).ok
        assert client.call("run_1", "orders.lookup", {}).ok
    assert script.server
    assert script.server.connections == 2


def test_one_connection_serves_many_reads() -> None:
    with scripted(DONE) as script, client_of(script) as client:
        for _ in range(5):
            client.call("run_1", "orders.lookup", {})
    assert script.server
    assert script.server.connections == 1


def test_too_many_is_left_to_the_caller() -> None:
    with scripted(RATE, DONE) as script, pytest.raises(TooMany):
        _write(client_of(script))
