"""Hundreds may wait for their calls on the ASGI process, without a thread each."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.asgi import get_asgi_application
from django.db import connections
from django.test import override_settings

from contextos.core import strict_json
from gateway.long_poll import AT_WORK, Application, patient
from gateway.models import ToolCall
from gateway.patience import LONGEST_WAIT
from tests.approvals.world import GateWorld
from tests.recorded_worlds import ready

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner"),
]


PATIENCE = int(LONGEST_WAIT)


class Caller:
    """One HTTP request to an ASGI application, spoken as a server speaks it."""

    def __init__(self, path: str, token: str, *, wait: int = 20) -> None:
        headers = {"authorization": f"Bearer {token}", "prefer": f"wait={wait}"}
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"localhost")]
            + [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
            "scheme": "http",
        }
        self.gone = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self._asked = False

    async def ask(self, application: Application) -> None:
        await application(self.scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        if self._asked:
            await self.gone.wait()
            return {"type": "http.disconnect"}
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def result(self) -> dict[str, Any]:
        body = b"".join(message.get("body", b"") for message in self.sent)
        result: Any = strict_json.loads_object(body)["result"]
        return dict(result)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> GateWorld:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)  # as contextos.asgi
    return ready(GateWorld)


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    """A thread for what people do meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        yield pool
        pool.submit(connections.close_all).result()


def _path(call: ToolCall) -> str:
    return f"/api/v1/tool-calls/{call.pk}"


def test_many_wait_for_people_with_few_threads_and_hear_at_once(
    world: GateWorld, aside: ThreadPoolExecutor
) -> None:
    request, call = world.proposed()

    async def story() -> tuple[list[Caller], int, float]:
        application = patient(get_asgi_application())
        callers = [Caller(_path(call), world.agent_token, wait=PATIENCE) for _ in range(60)]
        asking = [asyncio.create_task(caller.ask(application)) for caller in callers]
        await asyncio.sleep(4)
        threads, answered = threading.active_count(), sum(bool(c.sent) for c in callers)
        assert answered == 0
        loop, began = asyncio.get_running_loop(), time.monotonic()
        await loop.run_in_executor(aside, world.vote, request, "fin1", "reject")
        await asyncio.gather(*asking)
        return callers, threads, time.monotonic() - began

    before = threading.active_count()
    callers, threads, took = asyncio.run(story())
    assert {caller.result["status"] for caller in callers} == {"rejected"}
    assert threads - before <= AT_WORK + 4
    assert took < PATIENCE * 2 / 3  # they were told: nobody waited to the end


def test_whoever_waited_in_vain_gets_the_call_as_it_stands(world: GateWorld) -> None:
    _, call = world.proposed()
    caller = Caller(_path(call), world.agent_token, wait=1)
    asyncio.run(caller.ask(patient(get_asgi_application())))
    assert (caller.status, caller.result["status"]) == (200, "paused")


def test_somebody_elses_call_and_a_bad_token_are_answered_at_once(world: GateWorld) -> None:
    _, call = world.proposed()
    stranger = Caller(_path(call), "not-a-token")
    unknown = Caller("/api/v1/tool-calls/tool_00000000000000000000000000", world.agent_token)

    async def story() -> None:
        application = patient(get_asgi_application())
        async with asyncio.timeout(10):
            await stranger.ask(application)
            await unknown.ask(application)

    asyncio.run(story())
    assert (stranger.status, unknown.status) == (401, 404)


def test_beyond_the_places_callers_are_told_to_come_back(world: GateWorld) -> None:
    _, call = world.proposed()
    callers = [Caller(_path(call), world.agent_token, wait=3) for _ in range(2)]

    async def story() -> None:
        application = patient(get_asgi_application())
        first = asyncio.create_task(callers[0].ask(application))
        await asyncio.sleep(1)
        await callers[1].ask(application)
        assert not first.done()
        await first

    with override_settings(ASGI_CALL_WAITERS=1):
        asyncio.run(story())
    assert [caller.result["status"] for caller in callers] == ["paused", "paused"]


def test_a_caller_who_leaves_gives_the_place_back(world: GateWorld) -> None:
    _, call = world.proposed()
    leaver, later = (Caller(_path(call), world.agent_token, wait=20) for _ in range(2))

    async def story() -> None:
        application = patient(get_asgi_application())
        task = asyncio.create_task(leaver.ask(application))
        await asyncio.sleep(1)
        leaver.gone.set()
        async with asyncio.timeout(5):
            await task
        waiting = asyncio.create_task(later.ask(application))
        await asyncio.sleep(1)
        assert not waiting.done()
        later.gone.set()
        await waiting
        await asyncio.sleep(1)  # for the looker to see that nobody waits

    with override_settings(ASGI_CALL_WAITERS=1):
        asyncio.run(story())
    assert leaver.sent == []
