"""Redis paused, emptied and killed, while all it knows is in the database as well."""

from __future__ import annotations

import os
import time

import pytest
import redis
from celery import Celery

from tests.faults.ledger_manifests import POST, POST_BLINDLY
from tests.faults.plant import Plant, wait_until
from tests.faults.results import Results
from tests.faults.services import Broker
from tests.faults.trouble import Trouble

PAUSE_SECONDS = 30.0 if os.environ.get("CONTEXTOS_FAULTS_LONG") else 8.0
WRITES = 24
# The first to notice waits for the silent server's time to answer; the others do not.
SLOWEST_ANSWER = 12.0


@pytest.mark.proves("C12")
def test_a_broker_that_says_nothing_keeps_no_caller_waiting_and_loses_no_call(
    plant: Plant, broker: Broker, results: Results
) -> None:
    with results.of(f"Redis paused {PAUSE_SECONDS:.0f} s", plant) as row:
        met, until = Trouble(plant, "paused"), time.monotonic() + PAUSE_SECONDS
        with broker.paused():
            statuses, waits = set(), []
            for number in range(WRITES):
                started = time.monotonic()
                statuses.add(met.propose((POST, POST_BLINDLY)[number % 2], f"paused-{number}"))
                waits.append(time.monotonic() - started)
            wait_until(lambda: time.monotonic() > until, "the pause is over", seconds=60)
        assert statuses == {202}, met.codes
        assert max(waits) < SLOWEST_ANSWER, waits
        assert sorted(waits)[len(waits) // 2] < 2, "most callers wait for nobody"
        met.recover(row)


@pytest.mark.proves("C12")
def test_a_broker_that_forgets_everything_loses_no_call(
    plant: Plant, broker: Broker, results: Results
) -> None:
    with results.of("Redis emptied (`FLUSHALL`)", plant) as row:
        met, client = Trouble(plant, "flushed"), redis.Redis.from_url(broker.url)
        for number in range(WRITES):
            assert met.propose((POST, POST_BLINDLY)[number % 2], f"flushed-{number}") == 202
            if number % 6 == 5:
                client.flushall()
        client.close()
        met.recover(row)
        assert len(plant.ledger.of(*met.taken.values())) == len(met.taken)


@pytest.mark.proves("C9", "C12")
def test_a_message_that_arrives_five_times_is_one_attempt(
    plant: Plant, broker: Broker, results: Results
) -> None:
    with results.of("Every message delivered five times more", plant) as row:
        met, app = Trouble(plant, "doubled"), Celery(broker=broker.url)
        for number in range(WRITES):
            key = f"doubled-{number}"
            assert met.propose(POST_BLINDLY, key) == 202
            for _ in range(5):
                app.send_task("gateway.tasks.work_on_call", [met.taken[key]], queue="celery")
        app.close()
        met.recover(row)
        attempts = [effect.attempt for effect in plant.ledger.of(*met.taken.values())]
        assert attempts == [1] * len(met.taken)
