"""The MCP connector: an invocation becomes one tools/call on a shared session (A1)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from django.conf import settings
from mcp import ClientSession

from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from gateway.connectors.base import Credential, Invocation, Reply
from gateway.connectors.mcp.portal import Sessions, sessions
from gateway.connectors.mcp.replies import reply_of
from gateway.connectors.mcp.session import SessionKey
from gateway.connectors.mcp.sessions import Order
from gateway.connectors.mcp.wire import meta_of
from gateway.credentials.tls import tls_context_of
from gateway.endpoints import EndpointRef, address_of, egress_rule

DEFAULT_PIN = "2025-11-25"


class McpConnector:
    """Protocol `mcp` over Streamable HTTP."""

    def __init__(self, pool: Sessions | None = None) -> None:
        self._pool = pool

    def invoke(self, call: Invocation) -> Reply:
        """Call the tool; past the deadline, or when asked to stop, the server is told to stop."""
        order = order_for(call)
        params = {"name": call.binding, "arguments": dict(call.args), "_meta": meta_of(call)}
        request = types.CallToolRequest(params=types.CallToolRequestParams.model_validate(params))

        async def ask(client: ClientSession) -> types.CallToolResult:
            return await client.send_request(
                request,
                types.CallToolResult,  # the pinned schema judges the result, not the server's
                request_read_timeout_seconds=max(0.001, order.seconds_left()),
            )

        used = (self._pool or sessions()).use(order, ask, should_stop=call.should_stop)
        return reply_of(used, expects_output=call.expects_output)

    def poll(self, call: Invocation, task: Mapping[str, Any]) -> Reply:
        """Long work is not followed yet."""
        raise coded_error("mcp.tasks_unavailable")

    def cancel(self, call: Invocation, task: Mapping[str, Any] | None) -> None:
        """A call under way is cancelled where it waits; there is no other work to stop."""
        raise coded_error("mcp.tasks_unavailable")

    def give_input(
        self, call: Invocation, task: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Reply:
        """Long work is not followed yet."""
        raise coded_error("mcp.tasks_unavailable")


def order_for(call: Invocation) -> Order:
    """Which session serves this call, and until when."""
    left = (call.deadline_at - utcnow()).total_seconds()
    ref = EndpointRef(
        tenant_id=call.tenant_id,
        environment=call.environment,
        ref=str(call.transport.get("endpoint_ref") or ""),
    )
    return Order(
        key=session_key(ref, call.protocol_version or DEFAULT_PIN, call.credential),
        until=time.monotonic() + max(0.0, left),
        headers=dict(call.credential.headers) if call.credential else {},
        trace=_trace_of(call),
    )


def _trace_of(call: Invocation) -> dict[str, str]:
    given = {"traceparent": call.traceparent, "tracestate": call.tracestate}
    return {name: value for name, value in given.items() if value}


def session_key(
    ref: EndpointRef, protocol_version: str, credential: Credential | None
) -> SessionKey:
    """The key of sessions with an endpoint; its address is looked up, and judged again at dial."""
    url = address_of(ref)
    return SessionKey(
        tenant_id=ref.tenant_id,
        url=url,
        protocol_version=protocol_version,
        rule=egress_rule(url, ref.environment),
        proxy=settings.EGRESS_PROXY,
        credential_ref=credential.ref if credential else "",
        scopes=tuple(sorted(credential.scopes_granted)) if credential else (),
        tls=tls_context_of(credential),
    )
