"""Rates per tenant and capability, wherever they are counted (C10)."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from audit.models import DecisionRow
from gateway import calls, replays
from gateway.connectors.function.connector import runner_pool
from gateway.models import IdempotencyKey, RateCount, ToolCall
from gateway.rate_counters import Counter, InDatabase, InProcess, Rate
from gateway.rates import _counter, counter
from gateway.redis_rates import InRedis
from tests.factories import make_tenant
from tests.gateway.shaky_world import shaky_world

REDIS = os.environ.get("REDIS_URL", "")
NOBODY = "redis://127.0.0.1:1/0"
needs_redis = pytest.mark.skipif(not REDIS, reason="no REDIS_URL")


@pytest.fixture(autouse=True)
def _fresh_counters() -> Iterator[None]:
    _counter.cache_clear()
    yield
    _counter.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def _runner() -> Iterator[None]:
    runner_pool.cache_clear()
    with override_settings(
        CONTEXTOS_FUNCTION_MODULES=("tests.gateway.shaky_functions",), FUNCTION_RUNNERS=2
    ):
        yield
        runner_pool().close()
    runner_pool.cache_clear()


class Clock:
    """Time that stands still until it is told to pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _at_once(count: int, call: Callable[[], Any]) -> list[Any]:
    barrier = threading.Barrier(count)

    def one(_: int) -> Any:
        try:
            barrier.wait(30)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


# --- through the pipeline -------------------------------------------------------------------------
@pytest.mark.proves("C10")
@pytest.mark.django_db
@override_settings(REDIS_URL=None)
def test_calls_beyond_the_rate_are_refused_until_the_first_has_aged() -> None:
    world = shaky_world(rate_limit={"max": 2, "per_seconds": 60})
    run = world.open_run()
    first = world.call(run, idempotency_key="ik_first")
    assert [first.status_code, world.call(run).status_code] == [200, 200]
    refused = world.call(run, idempotency_key="ik_refused")
    error = refused.json()["error"]
    assert (refused.status_code, error["kind"], error["code"], error["retryable"]) == (
        429,
        "rate_limited",
        "rate.limited",
        True,
    )
    assert 55_000 < error["retry_after_ms"] <= 60_000
    assert int(refused.headers["Retry-After"]) == -(-error["retry_after_ms"] // 1000)
    # A replay costs nothing and passes; a refusal binds no key, but is on record.
    again = world.call(run, idempotency_key="ik_first")
    assert (again.status_code, again.json()["replayed"]) == (200, True)
    assert IdempotencyKey.objects.count() == 1
    assert ToolCall.objects.count() == 2
    assert DecisionRow.objects.filter(status="REJECTED").count() == 1
    # Another capability has a rate of its own.
    assert world.call(run, "steady.read").status_code == 200


@pytest.mark.django_db
@override_settings(REDIS_URL=None)
def test_what_was_refused_before_the_rate_takes_none_of_it() -> None:
    world = shaky_world(rate_limit={"max": 1, "per_seconds": 60})
    run = world.open_run()
    assert world.call(run, args={"item": 5}).status_code == 422
    assert world.call(run).status_code == 200


@pytest.mark.proves("C9")
@pytest.mark.django_db
@override_settings(REDIS_URL=None)
def test_a_repeat_that_lost_the_race_gets_its_answer_although_the_rate_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = shaky_world(rate_limit={"max": 1, "per_seconds": 60})
    run = world.open_run()
    first = world.call(run, idempotency_key="ik_1").json()
    monkeypatch.setattr(calls, "replay", _blind_once(replays.replay))
    again = world.call(run, idempotency_key="ik_1")
    assert (again.status_code, again.json()) == (200, {**first, "replayed": True})


def _blind_once(look: Callable[..., Any]) -> Callable[..., Any]:
    """Sees nothing the first time, as if the other claim came a moment later."""
    looked: list[object] = []

    def replay(context: Any) -> Any:
        looked.append(context)
        return None if len(looked) == 1 else look(context)

    return replay


# --- each place of counting -----------------------------------------------------------------------
def test_the_window_of_a_process_moves_and_says_exactly_when_the_next_call_fits() -> None:
    clock = Clock()
    rates, rate = InProcess(clock), Rate(2, 10.0)
    assert rates.take("t", "a.b", rate) is None
    clock.now += 4
    assert rates.take("t", "a.b", rate) is None
    clock.now += 1
    assert rates.take("t", "a.b", rate) == pytest.approx(5.0)
    assert rates.take("other", "a.b", rate) is None
    clock.now += 5
    assert rates.take("t", "a.b", rate) is None  # the first has aged, the second not
    assert rates.take("t", "a.b", rate) == pytest.approx(4.0)
    assert rates.used("t", "a.b", rate) == 2


def test_a_rate_that_was_lowered_counts_what_it_finds() -> None:
    clock = Clock()
    rates = InProcess(clock)
    assert all(rates.take("t", "a.b", Rate(5, 10.0)) is None for _ in range(5))
    clock.now += 1
    assert rates.take("t", "a.b", Rate(2, 10.0)) == pytest.approx(9.0)


@pytest.mark.django_db
def test_the_database_counts_a_window_and_begins_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, rate = make_tenant().pk, Rate(2, 10.0)
    rates = InDatabase()
    assert [rates.take(tenant, "a.b", rate) for _ in range(2)] == [None, None]
    wait = rates.take(tenant, "a.b", rate)
    assert wait is not None
    assert 9 < wait <= 10
    assert rates.used(tenant, "a.b", rate) == 2
    RateCount.objects.update(
        window_started_at=RateCount.objects.get().window_started_at - timedelta(seconds=10)
    )
    assert rates.used(tenant, "a.b", rate) == 0
    assert rates.take(tenant, "a.b", rate) is None
    assert rates.used(tenant, "a.b", rate) == 1


@pytest.mark.proves("C10")
def test_sixty_four_threads_are_admitted_exactly_as_often_as_the_rate_says() -> None:
    rates = InProcess()
    answers = _at_once(64, lambda: rates.take("t", "a.b", Rate(20, 60.0)))
    assert answers.count(None) == 20


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("place", ["database", pytest.param("redis", marks=needs_redis)])
def test_sixty_four_threads_are_admitted_exactly_so_often_also_where_processes_share(
    place: str,
) -> None:
    tenant = make_tenant().pk
    rates: Counter = InDatabase()
    if place == "redis":
        rates = InRedis(REDIS, otherwise=rates)
    capability = f"a.{uuid.uuid4().hex}"
    answers = _at_once(64, lambda: rates.take(tenant, capability, Rate(20, 60.0)))
    waits = [answer for answer in answers if answer is not None]
    assert answers.count(None) == 20
    assert all(0 < wait <= 60 for wait in waits)
    assert rates.used(tenant, capability, Rate(20, 60.0)) == 20


@needs_redis
@pytest.mark.django_db
def test_two_processes_share_what_redis_counts() -> None:
    one, other = (InRedis(REDIS, otherwise=InDatabase()) for _ in range(2))
    capability, rate = f"a.{uuid.uuid4().hex}", Rate(1, 60.0)
    assert one.take("t", capability, rate) is None
    wait = other.take("t", capability, rate)
    assert wait is not None
    assert 59 < wait <= 60


@pytest.mark.proves("C10")
@pytest.mark.django_db
def test_while_redis_is_away_the_database_counts_and_nobody_asks_redis_each_time() -> None:
    tenant, clock = make_tenant().pk, Clock()
    rates, rate = InRedis(NOBODY, otherwise=InDatabase(), clock=clock), Rate(1, 60.0)
    assert rates.take(tenant, "a.b", rate) is None
    assert rates.take(tenant, "a.b", rate) is not None  # never open
    until = rates._away_until
    assert until == clock.now + 5
    clock.now += 4.9
    rates.take(tenant, "a.b", rate)
    assert rates._away_until == until  # not asked
    clock.now += 0.2
    assert rates.used(tenant, "a.b", rate) == 1
    assert rates._away_until == clock.now + 5  # asked again, and found away again


@pytest.mark.django_db
@override_settings(REDIS_URL=NOBODY)
def test_a_governed_call_is_counted_although_redis_is_away() -> None:
    world = shaky_world(rate_limit={"max": 1, "per_seconds": 60})
    run = world.open_run()
    assert [world.call(run).status_code for _ in range(2)] == [200, 429]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("url", "vendor", "kind"),
    [("", "sqlite", InProcess), ("", "postgresql", InDatabase), (NOBODY, "postgresql", InRedis)],
)
def test_the_place_follows_what_there_is(url: str, vendor: str, kind: type) -> None:
    assert isinstance(_counter(url, vendor), kind)
    assert counter() is counter()


def test_counting_in_the_process_costs_next_to_nothing() -> None:
    rates, rate = InProcess(), Rate(1_000_000, 60.0)
    best = min(_microseconds(lambda: rates.take("t", "a.b", rate)) for _ in range(5))
    assert best < 30


def _microseconds(call: Callable[[], Any], times: int = 2000) -> float:
    started = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - started) / times * 1e6
