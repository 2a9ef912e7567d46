"""The connector against server-everything, an implementation in another language by others."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from gateway.connectors.base import ReplyKind
from gateway.connectors.mcp.connector import order_for
from gateway.connectors.mcp.discovery import discover
from gateway.connectors.mcp.portal import sessions
from registry.importers.mcp import draft_from
from registry.readiness import lint_document
from tests.gateway.connectors.mcp.calls import fault_of, invocation, invoke
from tests.gateway.connectors.mcp.peers import everything, free_port

pytestmark = [pytest.mark.conformance, pytest.mark.slow]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with everything() as address:
        yield address


@pytest.mark.proves("A1")
def test_a_foreign_server_is_called(url: str) -> None:
    reply = invoke(url, "echo", args={"message": "hello"})
    assert reply.output == {"content": [{"type": "text", "text": "Echo: hello"}]}
    assert (reply.server or {})["name"] == "mcp-servers/everything"
    weather = invoke(url, "get-structured-content", args={"location": "Chicago"})
    assert set(weather.output) == {"temperature", "conditions", "humidity"}


@pytest.mark.proves("C13")
def test_its_no_and_its_errors_are_kept_apart(url: str) -> None:
    refused = invoke(url, "get-sum", args={"a": "x"})
    assert refused.kind is ReplyKind.TOOL_ERROR
    assert invoke(url, "no-such-tool").kind is ReplyKind.TOOL_ERROR


@pytest.mark.proves("C10")
def test_it_is_told_to_stop_and_the_session_lives_on(url: str) -> None:
    args = {"duration": 20, "steps": 20}
    began = time.monotonic()
    assert fault_of(url, "trigger-long-running-operation", args=args, seconds=1).code == (
        "mcp.timeout"
    )
    assert time.monotonic() - began < 3
    assert invoke(url, "echo", args={"message": "on"}).output
    assert sessions().counts() == {"open": 1, "opened": 1}


@pytest.mark.proves("A1")
def test_a_pin_that_the_server_also_speaks_is_offered_and_kept(url: str) -> None:
    reply = invoke(url, "echo", args={"message": "old"}, protocol_version="2025-06-18")
    assert reply.kind is ReplyKind.OUTPUT


@pytest.mark.proves("B5")
def test_discovery_makes_a_draft_that_lint_has_much_to_say_about(url: str) -> None:
    found = discover(order_for(invocation(url, seconds=20)))
    assert found.protocol_version == "2025-11-25"
    assert len(found.tools) >= 10
    base = {
        "adapter_id": "adp_everything_mcp",
        "name": "Everything",
        "owner_role": "tests",
        "environment": "development",
        "transport": {"kind": "streamable_http", "endpoint_ref": url, "timeout_seconds": 10},
        "auth": {"type": "none", "reason": "A test server."},
    }
    drafted = draft_from(found, base=base)
    assert len(drafted.added) == len(found.tools)
    assert {item["approval_mode"] for item in drafted.manifest["capabilities"]} == {"destructive"}
    found_by_lint = {finding.rule for finding in lint_document(drafted.manifest).findings}
    assert "resource_template.unconstrained" in found_by_lint


@pytest.mark.proves("A1", "C13")
def test_after_its_restart_it_is_met_on_a_fresh_session() -> None:
    port = free_port()
    for opened in (1, 2):
        with everything(port) as address:
            assert invoke(address, "echo", args={"message": "hello"}).kind is ReplyKind.OUTPUT
        assert sessions().counts() == {"open": 1, "opened": opened}
