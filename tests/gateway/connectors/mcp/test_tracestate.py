"""A caller's `tracestate` travels with its trace, in header and `_meta` alike, or not at all."""

from __future__ import annotations

import pytest

from contextos.trace_context import begin_trace, enter_trace, leave_trace, state_of_caller
from tests.gateway.connectors.mcp.calls import invoke
from tests.gateway.connectors.mcp.sdk_server import SdkServer

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.mark.proves("C22")
@pytest.mark.parametrize("state", ["vendor=1,other=x", ""])
def test_the_server_gets_it_beside_the_traceparent(server: SdkServer, state: str) -> None:
    invoke(server.url, "look", traceparent=PARENT, tracestate=state)
    headers, meta = server.seen[-1]["headers"], server.seen[-1]["meta"]
    assert headers["traceparent"].split("-")[1] == TRACE
    assert headers.get("tracestate", "") == meta.get("tracestate", "") == state


def test_it_is_passed_on_within_its_own_trace_only() -> None:
    token = enter_trace(begin_trace(PARENT, "vendor=1"))
    try:
        assert state_of_caller(TRACE) == "vendor=1"
        assert state_of_caller("f" * 32) == ""
    finally:
        leave_trace(token)
    assert state_of_caller(TRACE) == ""
