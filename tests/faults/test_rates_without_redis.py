"""Redis is killed, stopped and brought back while calls are counted: never open, slow once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.models import RateCount
from gateway.rate_counters import InDatabase, Rate
from gateway.redis_rates import TIMEOUT_SECONDS, InRedis
from tests.factories import make_tenant
from tests.faults.services import Broker

pytestmark = pytest.mark.django_db
RATE = Rate(2, 60.0)


class Clock:
    """Ours alone: how long Redis is left alone, without waiting for it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Broker]:
    own = Broker(tmp_path)
    own.start()
    yield own
    own.kill()


@pytest.mark.proves("C10")
def test_a_killed_redis_is_replaced_by_the_database_and_taken_up_again(redis: Broker) -> None:
    tenant, clock = make_tenant().pk, Clock()
    rates = InRedis(redis.url, otherwise=InDatabase(), clock=clock)
    assert [rates.take(tenant, "a.b", RATE) for _ in range(2)] == [None, None]
    assert rates.take(tenant, "a.b", RATE) is not None
    redis.kill()
    admitted = [rates.take(tenant, "a.b", RATE) is None for _ in range(6)]
    assert admitted == [True, True, False, False, False, False]
    assert RateCount.objects.get().used == 2
    redis.start()
    clock.now += 5.1
    assert rates.take(tenant, "a.b", RATE) is None  # counted in the new, empty Redis
    assert RateCount.objects.get().used == 2


def test_a_redis_that_hangs_costs_one_short_wait(redis: Broker) -> None:
    tenant = make_tenant().pk
    rates = InRedis(redis.url, otherwise=InDatabase())
    assert rates.take(tenant, "a.b", RATE) is None
    assert redis._server is not None
    os.kill(redis._server.pid, signal.SIGSTOP)
    try:
        first, later = (_seconds(rates, tenant) for _ in range(2))
        assert first < 4 * TIMEOUT_SECONDS
        assert later < TIMEOUT_SECONDS
        assert rates.take(tenant, "a.b", RATE) is not None
    finally:
        os.kill(redis._server.pid, signal.SIGCONT)


def _seconds(rates: InRedis, tenant: str) -> float:
    started = time.monotonic()
    rates.take(tenant, "a.b", RATE)
    return time.monotonic() - started
