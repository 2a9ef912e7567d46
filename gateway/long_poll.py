"""Long polls on the ASGI process: who waits holds no thread, and one statement looks for all."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from gateway.patience import ended_among, wait_preference

log = structlog.get_logger(__name__)
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

STEP_SECONDS = 0.25
# Each request that is worked on has a thread and a connection; those that wait have neither.
AT_WORK = 8
_CALL = re.compile(r"/api/v1/tool-calls/(tool_[0-9a-z]{1,60})")
_UNDER_WAY = frozenset({"paused", "deferred"})


def _never() -> bool:
    return False


def patient(application: Application, is_ending: Callable[[], bool] = _never) -> Application:
    """The application, with `Prefer: wait` on a call answered without holding a thread.

    The call is read as ever, by the same view with the same checks; only where that says that it is
    under way does the caller wait, and then it is read once more. A server that ends answers all.
    """
    board, at_work = Board(settings.ASGI_CALL_WAITERS, is_ending), asyncio.Semaphore(AT_WORK)

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        wanted = _wanted(scope)
        if wanted is None:
            await application(scope, receive, send)
            return
        tool_call_id, seconds = wanted
        plain = _without_preference(scope)
        first = await _asked(application, plain, at_work)
        if not first.is_under_way() or not board.has_room():
            await first.give(send)
        elif await _waited(board, tool_call_id, seconds, receive):
            last = await _asked(application, plain, at_work)
            await last.give(send)

    return answer


@dataclass(slots=True)
class Recorded:
    """An answer that was not sent yet."""

    messages: list[Message] = field(default_factory=list)

    async def take(self, message: Message) -> None:
        """As `send`."""
        self.messages.append(message)

    async def give(self, send: Send) -> None:
        """Send it now."""
        for message in self.messages:
            await send(message)

    def is_under_way(self) -> bool:
        """Whether it shows a call that has not ended and does not ask the caller anything."""
        if not self.messages or self.messages[0].get("status") != 200:
            return False
        body = b"".join(message.get("body", b"") for message in self.messages)
        try:
            result = strict_json.loads_object(body).get("result")
        except ContextOSError:
            return False
        if not isinstance(result, dict) or result.get("input_request"):
            return False
        return result.get("status") in _UNDER_WAY


class Board:
    """Who waits for which call; looks for all of them together, four times a second."""

    def __init__(self, places: int, is_ending: Callable[[], bool] = _never) -> None:
        self._places = places
        self._is_ending = is_ending
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="long-poll")

    def has_room(self) -> bool:
        """Whether one more may wait; others come back by themselves."""
        return not self._is_ending() and sum(map(len, self._waiting.values())) < self._places

    async def wait(self, tool_call_id: str, seconds: float) -> None:
        """Until the call has ended, asks something, or the time is up."""
        ended = asyncio.Event()
        self._waiting[tool_call_id].add(ended)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            async with asyncio.timeout(seconds):
                await ended.wait()
        except TimeoutError:
            return
        finally:
            self._leave(tool_call_id, ended)

    def _leave(self, tool_call_id: str, ended: asyncio.Event) -> None:
        self._waiting[tool_call_id].discard(ended)
        if not self._waiting[tool_call_id]:
            del self._waiting[tool_call_id]

    async def _look(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(STEP_SECONDS)
                for tool_call_id in await self._to_answer():
                    for ended in self._waiting.get(tool_call_id, ()):
                        ended.set()
        finally:
            self._thread.submit(connections.close_all)  # nobody waits: no connection either

    async def _to_answer(self) -> list[str]:
        return list(self._waiting) if self._is_ending() else await self._found()

    async def _found(self) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, _ended, list(self._waiting))
        except DatabaseError:
            log.exception("looking for ended calls failed")
            return []


def _ended(waiting: Collection[str]) -> list[str]:
    close_old_connections()
    return ended_among(waiting)


async def _waited(board: Board, tool_call_id: str, seconds: float, receive: Receive) -> bool:
    """False when the caller has gone meanwhile."""
    wait = asyncio.create_task(board.wait(tool_call_id, seconds))
    gone = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({wait, gone}, return_when=asyncio.FIRST_COMPLETED)
        return not gone.done()
    finally:
        wait.cancel()
        gone.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _asked(
    application: Application, scope: dict[str, Any], at_work: asyncio.Semaphore
) -> Recorded:
    answer = Recorded()
    async with at_work:
        await application(dict(scope), _nothing_to_read(), answer.take)
    return answer


def _nothing_to_read() -> Receive:
    """An empty body, and then a caller who stays."""
    read = False

    async def receive() -> Message:
        nonlocal read
        if read:
            await asyncio.Event().wait()
        read = True
        return {"type": "http.request", "body": b"", "more_body": False}

    return receive


def _wanted(scope: Mapping[str, Any]) -> tuple[str, float] | None:
    if scope["type"] != "http" or scope["method"] != "GET":
        return None
    found = _CALL.fullmatch(scope["path"])
    preferred = b", ".join(value for name, value in scope["headers"] if name == b"prefer")
    seconds = wait_preference(preferred.decode("latin-1"))
    return (found[1], seconds) if found and seconds > 0 else None


def _without_preference(scope: Mapping[str, Any]) -> dict[str, Any]:
    return {**scope, "headers": [item for item in scope["headers"] if item[0] != b"prefer"]}
