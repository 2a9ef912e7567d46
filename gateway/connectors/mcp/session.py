"""One session with an MCP server, from handshake to goodbye; runs on the one event loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

import contextos
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.strict_json import storable
from contextos.net.async_door import open_async_client
from contextos.net.rules import EgressRule
from gateway.connectors.mcp.faults import coded
from gateway.connectors.mcp.wire import (
    MAX_ANSWER_BYTES,
    McpManners,
    current_exchange,
    exchange_until,
)

OPEN_SECONDS = 10.0
_CLIENT = types.Implementation(name="contextos", version=contextos.__version__)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """What calls must have in common to share a session."""

    tenant_id: str
    url: str = field(repr=False)
    protocol_version: str
    rule: EgressRule
    proxy: str | None = field(repr=False)
    credential_ref: str = ""
    scopes: tuple[str, ...] = ()
    tls: Any = None  # context of a client certificate or a private authority


class Session:
    """One open (or opening, or broken) session."""

    def __init__(self, key: SessionKey, headers: Mapping[str, str]) -> None:
        self.key = key
        self.client: ClientSession | None = None
        self.greeting: types.InitializeResult | None = None
        self.fault: ContextOSError | None = None
        self.ready = anyio.Event()
        self.ended = anyio.Event()
        self.used_at = time.monotonic()
        self._users = 0
        self._retired = False
        self._closing = anyio.Event()
        self._manners = McpManners(headers)

    @property
    def usable(self) -> bool:
        """Whether a call may be given to it, now or once it is open."""
        return not (self.fault or self._retired or self.ended.is_set() or self._closing.is_set())

    @property
    def busy(self) -> bool:
        """Whether a call is under way on it."""
        return self._users > 0

    @property
    def server(self) -> dict[str, Any]:
        """The server's name for itself: the server's words, made into what a record can hold."""
        info = self.greeting.server_info if self.greeting else None
        if info is None:
            return {}
        return {"name": storable(info.name)[:200], "version": storable(info.version)[:100]}

    def close(self) -> None:
        """Say goodbye; calls under way lose their connection."""
        self._closing.set()

    def retire(self) -> None:
        """Take no further call; those under way come to their end first."""
        self._retired = True
        if not self.busy:
            self.close()

    @contextmanager
    def in_use(self, headers: Mapping[str, str]) -> Iterator[None]:
        """While a call is under way; the newest credential is the one that a goodbye will show."""
        self._manners.headers = headers
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self.used_at = time.monotonic()
            if self._retired and not self.busy:
                self.close()

    async def live(self) -> None:
        """From handshake to goodbye, in one task, as the SDK's scopes demand."""
        exchange = exchange_until(time.monotonic() + OPEN_SECONDS, self._manners.headers)
        current_exchange.set(exchange)
        try:
            async with AsyncExitStack() as stack:
                client = await self._connect(stack)
                with anyio.fail_after(OPEN_SECONDS):
                    self.greeting = await self._shake_hands(client)
                current_exchange.set(None)
                self.client = client
                self.ready.set()
                await self._closing.wait()
        except Exception as fault:  # noqa: BLE001  whatever ended it, it ended for this session alone
            self.fault = coded(fault, exchange, opening=self.client is None)
        finally:
            self.fault = self.fault or coded_error("mcp.connection_lost")
            self.ready.set()
            self.ended.set()

    async def _connect(self, stack: AsyncExitStack) -> ClientSession:
        key = self.key
        http = await stack.enter_async_context(
            open_async_client(key.rule, self._manners, proxy=key.proxy, tls=key.tls)
        )
        streams = await stack.enter_async_context(
            streamable_http_client(key.url, http_client=http, max_sse_event_size=MAX_ANSWER_BYTES)
        )
        return await stack.enter_async_context(ClientSession(*streams, client_info=_CLIENT))

    async def _shake_hands(self, client: ClientSession) -> types.InitializeResult:
        """Offer exactly the pinned version, and take no other for an answer."""
        pin = self.key.protocol_version
        hello = types.InitializeRequestParams(
            protocol_version=pin, capabilities=types.ClientCapabilities(), client_info=_CLIENT
        )
        greeting = await client.send_request(
            types.InitializeRequest(params=hello), types.InitializeResult
        )
        if greeting.protocol_version != pin:
            raise _other_version(pin, greeting.protocol_version)
        client.adopt(greeting)
        await client.send_notification(types.InitializedNotification())
        return greeting


def _other_version(pin: str, answered: str) -> ContextOSError:
    message = f"The manifest pins {pin}, the server answered {answered[:40]}."
    data = {"pinned": pin, "answered": answered[:40], "request_sent": False}
    return coded_error("mcp.version_mismatch", message=message, data=data)
