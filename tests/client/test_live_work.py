"""The client and real workers: a write by its key, long work with questions, cancelling."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from contextos_client import (
    Client,
    InvalidCall,
    KeyInFlight,
    RunContext,
    Status,
    TaskState,
    ToolResult,
    WrongState,
    new_key,
)
from gateway.worker_pool import WorkerPool
from tests.client.gateways import losing_the_answer_of, passing_on_to, scripted
from tests.gateway.world import INTENT, GatewayWorld

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner", "workers"),
]


@pytest.fixture
def workers(live_server: LiveServer, settings: Any) -> Iterator[None]:
    settings.CELERY_BROKER_URL = None  # the embedded pool looks for calls itself
    pool = WorkerPool(2)
    pool.start()
    yield
    assert pool.stop()
    gc.collect()  # the threads are gone, their database connections lie in reference cycles


@pytest.fixture
def run(client: Client, world: GatewayWorld) -> RunContext:
    return client.open_run(world.tenant_id, INTENT, environment="production")


def _built(client: Client, run: RunContext, kind: str) -> ToolResult:
    begun = client.call(run, "reports.build", {"kind": kind})
    assert begun.status is Status.DEFERRED
    return client.wait_for(begun, seconds=20)


@pytest.mark.proves("C2", "C9")
def test_a_write_is_waited_for_and_its_replay_is_the_same(
    client: Client, run: RunContext, ledger: list[str]
) -> None:
    key = new_key()
    first = client.call(run, "notes.add", {"text": "hello"}, idempotency_key=key, wait=10)
    assert first.ok
    again = client.call(run, "notes.add", {"text": "hello"}, idempotency_key=key)
    assert again.raw == {**first.raw, "replayed": True}
    assert ledger == [f"note {key}"]


@pytest.mark.proves("C9")
def test_many_callers_with_one_key_get_one_effect_and_one_answer(
    client: Client, run: RunContext, ledger: list[str]
) -> None:
    key = new_key()

    def write(_: int) -> ToolResult | None:
        try:
            begun = client.call(run, "notes.add", {"text": "hello"}, idempotency_key=key)
        except KeyInFlight:
            return None
        return client.wait_for(begun, seconds=20)

    with ThreadPoolExecutor(6) as threads:
        ended = [result for result in threads.map(write, range(12)) if result]
    assert {(result.status, result.tool_call_id) for result in ended} == {
        (Status.OK, ended[0].tool_call_id)
    }
    assert ledger == [f"note {key}"]


@pytest.mark.proves("C9")
def test_an_answer_lost_on_the_way_leaves_one_effect_and_is_found_again(
    world: GatewayWorld, run: RunContext, live_server: LiveServer, ledger: list[str]
) -> None:
    url, key = live_server.url, new_key()
    with scripted(losing_the_answer_of(url), passing_on_to(url)) as wire:
        client = Client(wire.url, world.agent_token)
        begun = client.call(run, "notes.add", {"text": "hello"}, idempotency_key=key)
        assert len(wire.requests) == 2
        assert client.wait_for(begun, seconds=20).ok
        client.close()
    assert ledger == [f"note {key}"]


def test_a_write_without_a_key_is_invalid_and_does_nothing(
    client: Client, run: RunContext, ledger: list[str]
) -> None:
    with pytest.raises(InvalidCall) as caught:
        client.call(run, "notes.add", {"text": "hello"})
    assert caught.value.code == "idempotency.missing"
    assert ledger == []


def test_long_work_is_waited_for_to_its_end(client: Client, run: RunContext) -> None:
    ended = _built(client, run, "plain")
    assert ended.ok
    assert ended.task is not None
    assert ended.task.state is TaskState.COMPLETED
    with pytest.raises(WrongState):
        client.cancel(ended, "Too late.")


def test_a_question_comes_back_is_answered_and_the_work_goes_on(
    client: Client, run: RunContext
) -> None:
    asked = _built(client, run, "asks")
    assert asked.needs_input
    assert asked.input_request is not None
    assert asked.input_request["message"] == "Which year?"
    with pytest.raises(InvalidCall):
        client.give_input(asked, {"year": "soon"})
    given = client.give_input(asked, {"year": 2025})
    assert not given.needs_input
    assert client.wait_for(given, seconds=20).output["year"] == 2025
    with pytest.raises(WrongState):
        client.give_input(asked, {"year": 2026})


def test_a_question_can_be_declined(client: Client, run: RunContext) -> None:
    declined = client.give_input(_built(client, run, "asks"), action="decline")
    ended = client.wait_for(declined, seconds=20)
    assert ended.error is not None
    assert (ended.status, ended.error.code) == (Status.FAILED, "NO_YEAR")


def test_endless_work_outlasts_our_patience_and_is_cancelled(
    client: Client, run: RunContext
) -> None:
    begun = client.call(run, "reports.build", {"kind": "endless"})
    waiting = client.wait_for(begun, seconds=0.5)
    assert waiting.is_waiting
    client.cancel(waiting, "Nobody waits for it.")
    ended = client.wait_for(waiting, seconds=20)
    assert ended.status is Status.CANCELLED
