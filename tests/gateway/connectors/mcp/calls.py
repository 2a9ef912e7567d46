"""Invocations as the gateway would hand them to the connector."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from gateway.connectors.base import Invocation, Reply
from gateway.connectors.mcp.connector import McpConnector

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def invocation(url: str, tool: str = "echo", *, seconds: float = 5, **changes: Any) -> Invocation:
    values: dict[str, Any] = {
        "tool_call_id": "tool_1",
        "tenant_id": "tenant_one",
        "environment": "development",
        "capability_id": "orders.lookup",
        "binding": tool,
        "args": {"text": "hello"} if tool == "echo" else {},
        "deadline_at": utcnow() + timedelta(seconds=seconds),
        "attempt": 1,
        "traceparent": TRACE,
        "transport": {"kind": "streamable_http", "endpoint_ref": url},
        "protocol_version": "2025-11-25",
    }
    return Invocation(**{**values, **changes})


def invoke(url: str, tool: str = "echo", **how: Any) -> Reply:
    return McpConnector().invoke(invocation(url, tool, **how))


def fault_of(url: str, tool: str = "echo", **how: Any) -> ContextOSError:
    with pytest.raises(ContextOSError) as caught:
        invoke(url, tool, **how)
    return caught.value
