"""A tool of a real SDK server is called: what it sees, what it answers, how it says no."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from opentelemetry.baggage import set_baggage
from opentelemetry.context import attach, detach

from gateway.connectors.base import Credential, ReplyKind
from gateway.connectors.mcp.portal import sessions
from gateway.connectors.mcp.wire import META_CALL, META_KEY, META_TOKEN
from tests.gateway.connectors.mcp.calls import TRACE, fault_of, invocation, invoke
from tests.gateway.connectors.mcp.sdk_server import SdkServer, sdk_server


@pytest.mark.proves("A1")
def test_structured_content_is_the_output_and_the_server_is_named(server: SdkServer) -> None:
    reply = invoke(server.url)
    assert (reply.kind, reply.output) == (ReplyKind.OUTPUT, {"echo": "hello"})
    assert reply.server == {"name": "orders-probe", "version": "9.9.9"}
    assert reply.egress == {"host": "127.0.0.1", "ip": "127.0.0.1"}


@pytest.mark.proves("A1")
def test_answers_as_plain_json_are_read_as_well() -> None:
    with sdk_server(json_response=True) as server:
        assert invoke(server.url).output == {"echo": "hello"}


@pytest.mark.proves("C8", "C7")
def test_trace_key_and_signed_word_reach_the_server_and_the_credential_is_its_own(
    server: SdkServer,
) -> None:
    shown = Credential(ref="cred_1", headers={"Authorization": "Bearer brokered"})
    invoke(
        server.url,
        "look",
        credential=shown,
        metadata_token="signed.word",
        idempotency_key="ik_1",
        baggage={"run_id": "run_1", "decision_id": "dec 1"},
    )
    headers, meta = server.seen[-1]["headers"], server.seen[-1]["meta"]
    assert headers["authorization"] == "Bearer brokered"
    assert headers["traceparent"] == meta["traceparent"]
    assert meta["traceparent"].split("-")[1] == TRACE.split("-")[1]
    assert headers["baggage"] == meta["baggage"] == "run_id=run_1,decision_id=dec%201"
    assert (meta[META_TOKEN], meta[META_KEY]) == ("signed.word", "ik_1")
    assert meta[META_CALL] == "tool_1"
    assert headers["mcp-protocol-version"] == "2025-11-25"


@pytest.mark.proves("C8", "C22")
def test_the_baggage_of_a_caller_stays_with_the_gateway(server: SdkServer) -> None:
    """A process with a collector keeps it in the thread's context, where the SDK would take it."""
    token = attach(set_baggage("who", "alice"))
    try:
        invoke(server.url, "look", baggage={"run_id": "run_1"})
    finally:
        detach(token)
    seen = server.seen[-1]
    assert seen["headers"]["baggage"] == seen["meta"]["baggage"] == "run_id=run_1"


@pytest.mark.proves("C7")
def test_a_shared_session_shows_each_calls_own_token_and_credentials_share_none(
    server: SdkServer,
) -> None:
    seen = len(server.seen)
    for ref, token in (("cred_1", "old"), ("cred_1", "new"), ("cred_2", "other")):
        shown = Credential(ref=ref, headers={"Authorization": f"Bearer {token}"})
        invoke(server.url, "look", credential=shown)
    calls = [call["headers"] for call in server.seen[seen:]]
    assert [call["authorization"] for call in calls] == ["Bearer old", "Bearer new", "Bearer other"]
    ids = [call["mcp-session-id"] for call in calls]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.proves("C13")
@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("structured", {"code": "NO_STOCK", "message": "None left.", "remediation": "Wait."}),
        ("coded", {"code": "NO_STOCK", "message": "None left."}),
        ("plain", {"message": "just no"}),
    ],
)
def test_a_tools_no_is_its_own_and_no_failure_of_the_way(
    server: SdkServer, how: str, error: dict[str, Any]
) -> None:
    reply = invoke(server.url, "said_no", args={"how": how})
    assert (reply.kind, reply.error) == (ReplyKind.TOOL_ERROR, error)


@pytest.mark.parametrize(
    ("text", "expects", "output"),
    [
        ('{"a": 1}', True, {"a": 1}),
        ('{"a": 1}', False, {"content": [{"type": "text", "text": '{"a": 1}'}]}),
        ("words", True, {"content": [{"type": "text", "text": "words"}]}),
    ],
)
def test_text_is_read_as_json_only_where_a_schema_is_pinned(
    server: SdkServer, text: str, expects: bool, output: Any
) -> None:
    reply = invoke(server.url, "as_text", args={"text": text}, expects_output=expects)
    assert reply.output == output


@pytest.mark.proves("C10", "C13")
def test_past_the_deadline_the_server_is_told_to_stop_and_the_session_lives(
    server: SdkServer,
) -> None:
    args = {"seconds": 20, "mark": "late"}
    fault = fault_of(server.url, "slow", args=args, seconds=0.3)
    assert (fault.code, fault.data["request_sent"]) == ("mcp.timeout", True)
    _wait_for(lambda: "late" in server.cancelled)
    assert invoke(server.url).output == {"echo": "hello"}
    assert sessions().counts() == {"open": 1, "opened": 1}


def test_who_asks_to_stop_is_obeyed_on_the_other_side(server: SdkServer) -> None:
    fault = fault_of(
        server.url, "slow", args={"seconds": 20, "mark": "stopped"}, should_stop=lambda: True
    )
    assert fault.code == "call.cancelled"
    _wait_for(lambda: "stopped" in server.cancelled)


def test_threads_share_one_session_and_do_not_wait_for_each_other(server: SdkServer) -> None:
    args = {"seconds": 0.4}
    threads = [
        threading.Thread(target=invoke, args=(server.url, "slow"), kwargs={"args": args})
        for _ in range(8)
    ]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 2.5
    assert sessions().counts()["opened"] == 1


def test_nothing_is_built_per_call(server: SdkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client, TLS context or session: all of them are there after the first call."""
    import httpcore2
    import httpx2

    invoke(server.url)
    built: list[str] = []

    def count(kind: Any, name: str) -> None:
        original = kind.__init__

        def counted(self: Any, *args: Any, **more: Any) -> None:
            built.append(name)
            original(self, *args, **more)

        monkeypatch.setattr(kind, "__init__", counted)

    count(httpx2.AsyncClient, "client")
    count(httpcore2.AsyncConnectionPool, "pool")
    count(httpcore2.AsyncHTTPConnection, "connection")
    monkeypatch.setattr("ssl.create_default_context", lambda *a, **k: built.append("tls"))
    for _ in range(20):
        invoke(server.url)
    # A call may begin while the tail of the last one's stream is read: a second connection at most.
    assert built in ([], ["connection"])
    assert sessions().counts() == {"open": 1, "opened": 1}


def test_tenants_never_share_a_session(server: SdkServer) -> None:
    invoke(server.url)
    invoke(server.url, tenant_id="tenant_two")
    assert sessions().counts()["open"] == 2


def test_no_secret_shows_in_what_is_printed(server: SdkServer) -> None:
    shown = Credential(ref="cred_1", headers={"Authorization": "Bearer planted"})
    call = invocation(server.url, credential=shown, metadata_token="planted.word")
    assert "planted" not in repr(call)


def _wait_for(happened: Any) -> None:
    until = time.monotonic() + 5
    while not happened() and time.monotonic() < until:
        time.sleep(0.02)
    assert happened()
