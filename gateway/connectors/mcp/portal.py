"""One event loop per process, in a thread of its own, for callers that wait in theirs.

Started by the first call and never shared across a fork: a child starts its own. Ended at process
exit, and by `close_sessions` where a process has a better moment for it.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from asyncio import AbstractEventLoop, get_running_loop, run_coroutine_threadsafe
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, suppress
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession

from contextos.core.errors import coded_error
from gateway.connectors.mcp.sessions import Hub, Order, Used

STOP_EVERY_SECONDS = 0.5
GRACE_SECONDS = 3.0  # past its deadline the loop answers by itself; this is for a loop that hangs
T = TypeVar("T")


class _Loop:
    """The running loop of one process."""

    def __init__(self) -> None:
        self._manager: AbstractContextManager[BlockingPortal] = start_blocking_portal(
            name="mcp-sessions"
        )
        self.portal = self._manager.__enter__()
        self.running: AbstractEventLoop = self.portal.call(get_running_loop)
        self.hub: Hub = self.portal.call(Hub)
        self._served, _ = self.portal.start_task(self.hub.serve)

    def close(self) -> None:
        self.portal.call(self.hub.close)
        self._served.result(timeout=2 * GRACE_SECONDS)
        self._manager.__exit__(None, None, None)


class Sessions:
    """The way from a thread to the loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: _Loop | None = None

    def use(
        self,
        order: Order,
        what: Callable[[ClientSession], Awaitable[T]],
        *,
        should_stop: Callable[[], bool] | None = None,
    ) -> Used:
        """Do something on a session and wait for it; stopping tells the server to stop too."""
        loop = self._running()
        # Not the portal's own way, which waits for the task to begin and then for its end.
        future = run_coroutine_threadsafe(loop.hub.use(order, what), loop.running)
        gives_up_at = order.until + GRACE_SECONDS
        while True:
            left = gives_up_at - time.monotonic()
            pause = left if should_stop is None else min(left, STOP_EVERY_SECONDS)
            try:
                return future.result(timeout=max(0.0, pause))
            except TimeoutError:
                if future.done():
                    raise
                if left <= 0:
                    future.cancel()
                    raise coded_error("mcp.timeout") from None
                if should_stop is not None and should_stop():
                    raise _stopped(future) from None

    def counts(self) -> dict[str, int]:
        """How many sessions there are now, and were ever opened by this process."""
        with self._lock:
            loop = self._loop
        return (
            {"open": len(loop.hub), "opened": loop.hub.opened}
            if loop
            else dict.fromkeys(("open", "opened"), 0)
        )

    def open_with(self, tenant_id: str) -> Counter[str]:
        """How many sessions of one tenant are open now, by the server's address."""
        with self._lock:
            loop = self._loop
        keys = loop.hub.keys() if loop else []
        return Counter(key.url for key in keys if key.tenant_id == tenant_id)

    def close(self) -> None:
        """Say goodbye to every server; the next call starts anew."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def _running(self) -> _Loop:
        with self._lock:
            if self._loop is None:
                self._loop = _Loop()
            return self._loop


def _stopped(future: Future[Used]) -> Exception:
    future.cancel()  # the SDK sends the cancellation before the task ends
    with suppress(CancelledError, TimeoutError):
        future.result(timeout=GRACE_SECONDS)
    return coded_error("call.cancelled")


_sessions = Sessions()


def sessions() -> Sessions:
    """The sessions of this process."""
    return _sessions


def close_sessions() -> None:
    """Close them all, on shutdown or between tests."""
    _sessions.close()


_of_the_parent: list[Sessions] = []


def _start_afresh_after_fork() -> None:
    # The loop's thread stayed with the parent. What is left of it here is kept, untouched: even
    # collecting it as garbage would wait for that thread.
    global _sessions
    _of_the_parent.append(_sessions)
    _sessions = Sessions()


os.register_at_fork(after_in_child=_start_afresh_after_fork)
atexit.register(close_sessions)
