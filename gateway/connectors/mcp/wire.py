"""How MCP travels: the terms each message leaves under, and what `_meta` and headers carry.

A call's clock and secret headers are found through a context variable, which the SDK carries from
the caller to the request; so a session can be shared while every request shows its own credential.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import orjson

from contextos.core.errors import ContextOSError
from contextos.net.manners import AsyncExchange, Departure, LocalAnswer
from contextos.trace_context import baggage_text
from gateway.connectors.base import Invocation

# The SDK logs messages, arguments and bodies included; what went wrong is told by coded errors.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
logging.getLogger("mcp.shared").setLevel(logging.CRITICAL)

MAX_ANSWER_BYTES = 8 * 1024 * 1024
LAST_WORDS_SECONDS = 1.0  # for a cancel or a goodbye that nobody waits for
MOST_RESUMES = 3
META_TOKEN = "contextos/metadata"  # noqa: S105  the name of a member
META_KEY = "contextos/idempotency_key"
META_CALL = "contextos/tool_call_id"
META_MUTATIONS = "contextos/mutations"  # in a result: [{kind, ref, reversal_token?}]
_MIRRORED = ("traceparent", "tracestate", "baggage")
_CLOSED = -32000


@dataclass(slots=True)
class CallExchange(AsyncExchange):
    """The exchange of one call or one handshake."""

    max_bytes: int = MAX_ANSWER_BYTES
    resumes: int = 0
    rpc_code: int | None = None  # of the error that the server answered

    def __repr__(self) -> str:
        return f"<CallExchange {self.host} {self.status}>"


current_exchange: ContextVar[CallExchange | None] = ContextVar("mcp_exchange", default=None)


def exchange_until(moment: float, headers: Mapping[str, str]) -> CallExchange:
    """An exchange that ends at a time.monotonic moment."""
    return CallExchange(expires_at=moment, headers=headers)


def meta_of(call: Invocation) -> dict[str, Any]:
    """What the server learns beside the arguments; never a token of the caller."""
    given = {
        "traceparent": call.traceparent,
        "tracestate": call.tracestate,
        "baggage": baggage_text(call.baggage),
        META_TOKEN: call.metadata_token,
        META_KEY: call.idempotency_key,
        META_CALL: call.tool_call_id,
    }
    return {name: value for name, value in given.items() if value}


@dataclass(slots=True)
class McpManners:
    """The door's questions, answered for one session."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def departs(
        self, method: str, headers: Mapping[str, str], content: bytes
    ) -> Departure | LocalAnswer:
        """Requests leave under their call's exchange; what outlives the call gets a short one."""
        exchange = current_exchange.get()
        if method == "GET" and not self._may_resume(exchange, headers):
            return LocalAnswer(405)  # no standing stream: nothing here listens to one yet
        if method == "POST" and exchange is not None:
            message = orjson.loads(content)
            if "id" in message and "method" in message:
                return Departure(exchange, _mirrored(message))
        if exchange is None or exchange.has_expired() or method == "POST":
            shown = exchange.headers if exchange is not None else self.headers
            exchange = exchange_until(time.monotonic() + LAST_WORDS_SECONDS, shown)
        return Departure(exchange)

    def stands_in(self, content: bytes, fault: ContextOSError) -> LocalAnswer | None:
        """A failed request is answered with an error, so that others on the session live on."""
        if not content:
            return LocalAnswer(405)
        message = orjson.loads(content)
        if "id" not in message or "method" not in message:
            return LocalAnswer(202)
        error = {"code": _CLOSED, "message": fault.code}
        return LocalAnswer(
            200, orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})
        )

    def _may_resume(self, exchange: CallExchange | None, headers: Mapping[str, str]) -> bool:
        if exchange is None or exchange.has_expired() or "last-event-id" not in headers:
            return False
        exchange.resumes += 1
        return exchange.resumes <= MOST_RESUMES


def _mirrored(message: Mapping[str, Any]) -> dict[str, str]:
    """Trace context as headers too, exactly as `_meta` has it by now."""
    meta = (message.get("params") or {}).get("_meta") or {}
    return {name: meta[name] for name in _MIRRORED if isinstance(meta.get(name), str)}
