"""Sessions with MCP servers, kept open between calls; everything here runs on the one event loop.

A session lives in a task of its own. It is shared by calls of the same tenant, endpoint, pin and
credential, and opened again by the next call after it broke.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp import ClientSession, MCPError
from opentelemetry import context as otel_context
from opentelemetry.propagate import extract

from contextos.core.errors import ContextOSError, coded_error
from gateway.connectors.mcp.faults import coded, is_stale, is_useless
from gateway.connectors.mcp.session import Session, SessionKey
from gateway.connectors.mcp.wire import (
    LAST_WORDS_SECONDS,
    CallExchange,
    current_exchange,
    exchange_until,
)

IDLE_SECONDS = 300.0
LOOK_EVERY_SECONDS = 15.0
MOST_SESSIONS = 256
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One use of a session: under which key, with which headers and trace, until when."""

    key: SessionKey
    until: float  # time.monotonic
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    trace: Mapping[str, str] = field(default_factory=dict)

    def seconds_left(self) -> float:
        """What remains; a call without time is not begun."""
        return self.until - time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What came of a use, and whom it was with."""

    result: Any
    server: Mapping[str, Any]
    egress: Mapping[str, Any]


class Hub:
    """All sessions of a process."""

    def __init__(self) -> None:
        self._sessions: dict[SessionKey, Session] = {}
        self._tasks: TaskGroup | None = None
        self.opened = 0
        self._closing = anyio.Event()

    def __len__(self) -> int:
        return len(self._sessions)

    def keys(self) -> list[SessionKey]:
        """What the sessions are for, at this moment; other threads may ask."""
        return list(self._sessions)

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
        """Hold the sessions' tasks until `close`."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            while not self._closing.is_set():
                with anyio.move_on_after(LOOK_EVERY_SECONDS):
                    await self._closing.wait()
                self._close_idle(time.monotonic() - IDLE_SECONDS)
            await self._close_all()
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        """Ask `serve` to end."""
        self._closing.set()

    async def use(
        self, order: Order, what: Callable[[ClientSession], Awaitable[T]], *, again: bool = False
    ) -> Used:
        """Do something on a session. Once more on a fresh one where the first is gone and can't
        have done it: nothing was sent, or the server says that it has forgotten the session."""
        session, fresh = await self._session(order)
        exchange = exchange_until(order.until + LAST_WORDS_SECONDS, order.headers)
        try:
            return await self._used(session, order, exchange, what)
        except ContextOSError as fault:
            if is_useless(exchange) or session.ended.is_set():
                self._drop(session)
            unseen = fault.data.get("request_sent") is False and session.ended.is_set()
            unseen = unseen or is_stale(exchange)
            if fresh or again or not unseen or order.seconds_left() <= 0:
                raise
        return await self.use(order, what, again=True)

    async def _used(
        self,
        session: Session,
        order: Order,
        exchange: CallExchange,
        what: Callable[[ClientSession], Awaitable[T]],
    ) -> Used:
        if session.client is None:
            raise coded_error("mcp.connection_lost", data={"request_sent": False})
        current_exchange.set(exchange)
        trace = otel_context.attach(extract(order.trace))
        try:
            with session.in_use(order.headers):
                result = await what(session.client)
        except (MCPError, ValueError, TimeoutError, anyio.ClosedResourceError) as fault:
            raise coded(fault, exchange, server=session.server) from fault
        finally:
            otel_context.detach(trace)
        egress = {"host": exchange.host, "ip": exchange.peer_ip}
        return Used(result=result, server=session.server, egress=egress)

    async def _session(self, order: Order) -> tuple[Session, bool]:
        session, fresh = self._sessions.get(order.key), False
        if session is None or not session.usable:
            session, fresh = self._open(order), True
        if not session.ready.is_set():
            with anyio.move_on_after(max(0.0, order.seconds_left())):
                await session.ready.wait()
        if session.fault is not None:
            self._forget(session)
            raise session.fault
        if session.client is None:
            raise coded_error("mcp.not_opened", data={"request_sent": False})
        return session, fresh

    def _open(self, order: Order) -> Session:
        if self._tasks is None or self._closing.is_set():
            raise coded_error("mcp.not_opened", data={"request_sent": False})
        self._make_room()
        session = Session(order.key, order.headers)
        self._sessions[order.key] = session
        self._tasks.start_soon(self._live, session)
        self.opened += 1
        return session

    async def _live(self, session: Session) -> None:
        await session.live()
        self._forget(session)

    def _forget(self, session: Session) -> None:
        if self._sessions.get(session.key) is session:
            del self._sessions[session.key]

    def _drop(self, session: Session) -> None:
        session.retire()
        self._forget(session)

    def _make_room(self) -> None:
        if len(self._sessions) >= MOST_SESSIONS:
            idle = [one for one in self._sessions.values() if not one.busy]
            if not idle:
                raise coded_error("mcp.not_opened", data={"request_sent": False})
            self._drop(min(idle, key=lambda one: one.used_at))

    def _close_idle(self, since: float) -> None:
        for session in list(self._sessions.values()):
            if not session.busy and session.used_at < since:
                session.close()

    async def _close_all(self) -> None:
        waiting = list(self._sessions.values())
        for session in waiting:
            session.close()
        with anyio.move_on_after(2 * LAST_WORDS_SECONDS):
            for session in waiting:
                await session.ended.wait()
