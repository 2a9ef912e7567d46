"""Servers that fail in every way a network knows: one coded fault each, soon, and no leak."""

from __future__ import annotations

import gzip
import json
import threading
import time
from typing import Any

import pytest

from contextos.core.errors import ErrorKind
from gateway.connectors.mcp import wire
from gateway.connectors.mcp.portal import close_sessions, sessions
from tests.gateway.connectors.mcp.calls import fault_of, invoke
from tests.gateway.connectors.mcp.hostile import JSON, methods_seen, rpc, speaking
from tests.gateway.connectors.mcp.sdk_server import sdk_server
from tests.net.upstreams import Call, http_answer, upstream

EVENTS = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
GOOD = {"content": [], "structuredContent": {"echo": "late"}, "isError": False}
NOISE = {
    "jsonrpc": "2.0",
    "method": "notifications/message",
    "params": {"level": "info", "data": "x" * 200_000},
}


def _chunk(text: str) -> bytes:
    return f"{len(text.encode()):x}\r\n{text}\r\n".encode()


def _silent(call: Call, message: dict[str, Any]) -> None:
    call.upstream.stopping.wait(10)


def _reset(call: Call, message: dict[str, Any]) -> None:
    call.send(f"HTTP/1.1 200 OK\r\n{JSON}Content-Length: 500\r\n\r\n{{".encode())
    call.connection.close()


def _dripping(call: Call, message: dict[str, Any]) -> None:
    call.send(f"HTTP/1.1 200 OK\r\n{JSON}Content-Length: 900\r\n\r\n".encode())
    call.drip(b" " * 900, every=0.05)


def _dripping_events(call: Call, message: dict[str, Any]) -> None:
    call.send(EVENTS.encode())
    while not call.upstream.stopping.wait(0.05):
        call.send(_chunk(": wait\n\n"))


def _cut_events(call: Call, message: dict[str, Any]) -> None:
    call.send(EVENTS.encode() + _chunk('data: {"half": '))
    call.connection.close()


def _resumed_for_ever(call: Call, message: dict[str, Any]) -> None:
    call.send(EVENTS.encode() + _chunk("id: 1\nretry: 1\ndata:\n\n") + b"0\r\n\r\n")


def _hundred_megabytes(call: Call, message: dict[str, Any]) -> None:
    call.send(f"HTTP/1.1 200 OK\r\n{JSON}Connection: close\r\n\r\n".encode())
    for _ in range(1600):
        call.send(b"x" * 65536)


def _announced(call: Call, message: dict[str, Any]) -> None:
    call.send(f"HTTP/1.1 200 OK\r\n{JSON}Content-Length: 104857600\r\n\r\n".encode())


def _endless_events(call: Call, message: dict[str, Any]) -> None:
    call.send(EVENTS.encode())
    while not call.upstream.stopping.is_set():
        call.send(_chunk(f"data: {json.dumps(NOISE)}\n\n"))


def _answer(body: bytes, *, status: str = "200 OK", headers: str = JSON) -> Any:
    return lambda call, message: call.send(http_answer(body, status=status, headers=headers))


def _result(result: dict[str, Any]) -> Any:
    return lambda call, message: call.send(rpc(message, result))


def _error(code: int) -> Any:
    def answer(call: Call, message: dict[str, Any]) -> None:
        error = {"code": code, "message": "secret words"}
        body = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        call.send(http_answer(json.dumps(body).encode(), headers=JSON))

    return answer


METADATA = "Location: http://169.254.169.254/latest\r\n"
ROWS = [
    (_silent, "mcp.timeout", ErrorKind.TIMEOUT),
    (_dripping, "mcp.timeout", ErrorKind.TIMEOUT),
    (_dripping_events, "mcp.timeout", ErrorKind.TIMEOUT),
    (_reset, "mcp.connection_lost", ErrorKind.UPSTREAM),
    (_cut_events, "mcp.connection_lost", ErrorKind.UPSTREAM),
    (_resumed_for_ever, "mcp.connection_lost", ErrorKind.UPSTREAM),
    (_hundred_megabytes, "egress.too_large", ErrorKind.EGRESS),
    (_announced, "egress.too_large", ErrorKind.EGRESS),
    (_endless_events, "egress.too_large", ErrorKind.EGRESS),
    (_answer(b"\x1f\x8bjunk", headers=f"{JSON}Content-Encoding: gzip\r\n"), "mcp.connection_lost",
     ErrorKind.UPSTREAM),
    (_answer(gzip.compress(b" " * 10**8), headers=f"{JSON}Content-Encoding: gzip\r\n"),
     "mcp.connection_lost", ErrorKind.UPSTREAM),
    (_answer(b"<html>", headers="Content-Type: text/html\r\n"), "mcp.answer_invalid",
     ErrorKind.PROTOCOL),
    (_answer(b"{not json"), "mcp.answer_invalid", ErrorKind.PROTOCOL),
    (_answer(b"[" * 5000), "mcp.answer_invalid", ErrorKind.PROTOCOL),
    (_result({"content": "no list"}), "mcp.answer_invalid", ErrorKind.PROTOCOL),
    (_answer(b"", status="302 Found", headers=METADATA), "egress.redirect_refused",
     ErrorKind.EGRESS),
    (_answer(b"", status="307 Temporary Redirect", headers="Location: /mcp/\r\n"),
     "egress.redirect_refused", ErrorKind.EGRESS),
    (_answer(b"", status="202 Accepted"), "mcp.answer_invalid", ErrorKind.PROTOCOL),
    (_answer(b"", status="401 Unauthorized"), "credential.refused", ErrorKind.AUTH),
    (_answer(b"", status="403 Forbidden"), "mcp.forbidden", ErrorKind.AUTH),
    (_answer(b"", status="429 Too Many", headers="Retry-After: 7\r\n"), "mcp.rate_limited",
     ErrorKind.RATE_LIMITED),
    (_answer(b"oops", status="500 Oops"), "mcp.server_failed", ErrorKind.UPSTREAM),
    (_answer(b"oops", status="503 Busy"), "mcp.server_failed", ErrorKind.UPSTREAM),
    (_error(-32601), "mcp.unknown_tool", ErrorKind.PROTOCOL),
    (_error(-32602), "mcp.arguments_refused", ErrorKind.PROTOCOL),
    (_error(-32603), "mcp.server_failed", ErrorKind.UPSTREAM),
    (_error(-31999), "mcp.protocol_error", ErrorKind.PROTOCOL),
]  # fmt: skip


@pytest.mark.proves("C13", "C11")
@pytest.mark.parametrize(("on_call", "code", "kind"), ROWS)
def test_whatever_a_server_does_is_one_coded_fault(
    on_call: Any, code: str, kind: ErrorKind
) -> None:
    began = time.monotonic()
    with upstream(speaking(on_call)) as server:
        fault = fault_of(f"{server.url}/mcp", seconds=3 if "large" in code else 0.5)
        assert (fault.code, fault.kind) == (code, kind)
        assert fault.data["request_sent"] is True
        assert "secret words" not in str(fault.message) + str(fault.data)
        assert methods_seen(server.requests).count("tools/call") == 1
        close_sessions()
    assert time.monotonic() - began < 5
    assert fault.retry_after_ms == (7000 if code == "mcp.rate_limited" else None)


@pytest.mark.proves("C13", "C7")
@pytest.mark.parametrize(
    ("challenge", "asked"),
    [
        ('Bearer error="insufficient_scope", scope="refunds:write refunds:read"',
         ["refunds:write", "refunds:read"]),
        ('Bearer scope="a\\"b"', None),
        (f'Bearer scope="{"x" * 600}"', None),
        ("Bearer", None),
    ],
)  # fmt: skip
def test_scopes_that_a_server_asks_for_are_told_and_not_taken(
    challenge: str, asked: list[str] | None
) -> None:
    refusal = _answer(b"", status="403 Forbidden", headers=f"WWW-Authenticate: {challenge}\r\n")
    with upstream(speaking(refusal)) as server:
        fault = fault_of(f"{server.url}/mcp")
        assert (fault.code, fault.data.get("scopes_asked")) == ("mcp.forbidden", asked)
        assert methods_seen(server.requests).count("tools/call") == 1


@pytest.mark.proves("C13")
def test_one_bad_answer_leaves_the_session_to_the_others() -> None:
    def bad_once(call: Call, message: dict[str, Any]) -> None:
        first = methods_seen(call.upstream.requests).count("tools/call") == 1
        (_answer(b"{bad") if first else _result(GOOD))(call, message)

    with upstream(speaking(bad_once)) as server:
        assert fault_of(f"{server.url}/mcp").code == "mcp.answer_invalid"
        assert invoke(f"{server.url}/mcp").output == {"echo": "late"}
        assert sessions().counts() == {"open": 1, "opened": 1}


@pytest.mark.proves("C13")
def test_a_success_after_we_gave_up_is_nobodys_answer() -> None:
    def late_once(call: Call, message: dict[str, Any]) -> None:
        if methods_seen(call.upstream.requests).count("tools/call") == 1:
            call.upstream.stopping.wait(0.5)
            _result({**GOOD, "structuredContent": {"echo": "too late"}})(call, message)
        else:
            _result(GOOD)(call, message)

    with upstream(speaking(late_once)) as server:
        assert fault_of(f"{server.url}/mcp", seconds=0.2).code == "mcp.timeout"
        assert invoke(f"{server.url}/mcp").output == {"echo": "late"}
        assert "notifications/cancelled" in methods_seen(server.requests)


@pytest.mark.proves("A1")
@pytest.mark.parametrize(
    ("pin", "answered"),
    [("2025-11-25", "2025-06-18"), ("2025-06-18", "2025-11-25"), ("2025-11-25", "1999-01-01")],
)
def test_a_server_that_speaks_another_version_is_called_no_tool(pin: str, answered: str) -> None:
    with upstream(speaking(_result(GOOD), version=answered)) as server:
        fault = fault_of(f"{server.url}/mcp", protocol_version=pin)
        close_sessions()
    assert (fault.code, fault.kind) == ("mcp.version_mismatch", ErrorKind.DRIFT)
    assert fault.data["request_sent"] is False
    assert methods_seen(server.requests) == ["initialize", "DELETE"]


@pytest.mark.proves("A1")
def test_an_older_version_is_spoken_where_the_manifest_pins_it() -> None:
    with upstream(speaking(_result(GOOD), version="2025-06-18")) as server:
        assert invoke(f"{server.url}/mcp", protocol_version="2025-06-18").output
        assert b'"protocolVersion":"2025-06-18"' in server.requests[0]


@pytest.mark.proves("C13")
def test_before_there_is_a_session_nothing_was_called() -> None:
    with upstream(speaking(_result(GOOD), methods="x")) as server:
        port = server.port
    fault = fault_of(f"http://127.0.0.1:{port}/mcp")
    assert (fault.code, fault.data["request_sent"]) == ("egress.connect_failed", False)
    with upstream(lambda call: _silent(call, {})) as server:
        fault = fault_of(f"{server.url}/mcp", seconds=0.3)
    assert (fault.code, fault.data["request_sent"]) == ("mcp.not_opened", False)


@pytest.mark.proves("C13", "A1")
def test_a_server_that_restarted_is_met_on_a_fresh_session_once() -> None:
    with sdk_server() as first:
        assert invoke(first.url).output == {"echo": "hello"}
    with sdk_server(port=first.port) as second:
        assert invoke(second.url).output == {"echo": "hello"}
        assert sessions().counts() == {"open": 1, "opened": 2}


@pytest.mark.proves("C13")
@pytest.mark.parametrize("status", ["404 Not Found", "400 Bad Request"])
def test_a_server_that_forgets_every_session_is_not_asked_for_ever(status: str) -> None:
    def forgets(call: Call, message: dict[str, Any]) -> None:
        error = {"code": -32000, "message": "No valid session ID provided"}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        call.send(http_answer(body, status=status, headers=JSON))

    with upstream(speaking(forgets)) as server:
        for asked in (1, 2):
            fault = fault_of(f"{server.url}/mcp")
            assert fault.code == "mcp.session_lost"
            assert methods_seen(server.requests).count("tools/call") == asked
        assert sessions().counts()["open"] == 0


@pytest.mark.proves("C13")
def test_a_session_that_is_given_up_lets_calls_under_way_end() -> None:
    def odd(call: Call, message: dict[str, Any]) -> None:
        if message["params"]["arguments"].get("text") == "slow":
            call.upstream.stopping.wait(0.6)
            call.send(rpc(message, GOOD))
        else:
            call.send(http_answer(b"", status="418 Teapot"))

    replies: list[Any] = []
    with upstream(speaking(odd)) as server:
        url = f"{server.url}/mcp"
        slow = threading.Thread(
            target=lambda: replies.append(invoke(url, args={"text": "slow"}).output)
        )
        slow.start()
        time.sleep(0.2)
        assert fault_of(url).code == "mcp.server_failed"
        slow.join()
    assert replies == [{"echo": "late"}]


def test_a_late_answer_ends_with_its_exchange_and_holds_no_connection() -> None:
    with upstream(speaking(_dripping_events)) as server:
        assert fault_of(f"{server.url}/mcp", seconds=0.2).code == "mcp.timeout"
        time.sleep(wire.LAST_WORDS_SECONDS + 0.3)
        close_sessions()
        assert sessions().counts() == {"open": 0, "opened": 0}
