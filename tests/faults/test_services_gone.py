"""The broker or the database goes away in mid-work and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.faults.invariants import check_invariants
from tests.faults.ledger_manifests import POST, POST_BLINDLY, READ
from tests.faults.plant import Plant, wait_until
from tests.faults.results import Results
from tests.faults.services import Broker, Database

WHILE_GONE = 12


@pytest.mark.proves("C12")
def test_writes_are_taken_without_a_broker_and_made_once_it_is_back(
    plant: Plant, broker: Broker, results: Results
) -> None:
    with results.of("Redis killed", plant) as row:
        caller = plant.caller
        run_id = caller.open_run()
        caller.call(run_id, POST, "pause 2", key="broker-begun")
        wait_until(lambda: _begun(plant, "broker-begun"), "a message is not acknowledged yet")
        broker.kill()
        started = time.monotonic()
        answers = [
            caller.call(run_id, (POST, POST_BLINDLY)[number % 2], "quick", key=f"broker-{number}")
            for number in range(WHILE_GONE)
        ]
        each = (time.monotonic() - started) / WHILE_GONE
        assert {answer.status for answer in answers} == {202}
        assert each < 3, f"a caller waits {each:.1f} s for a broker that is not there"
        ids = [answer.body["tool_call_id"] for answer in answers]
        assert set(plant.store.states(*ids)) == {"queued"}
        broker.start()
        row.recovered(plant.settled(seconds=60))
        assert set(plant.store.states(*ids)) == {"ok"}
        assert len(plant.ledger.of(*ids)) == WHILE_GONE
        check_invariants(plant.store, plant.ledger)


@contextmanager
def _without(database: Database) -> Iterator[None]:
    database.cut()
    try:
        yield
    finally:
        database.give_back()


def _ends_lost(plant: Plant, said: int) -> int:
    """How many calls the workers could not end since they had said so much."""
    lines = plant.log("worker")[said:].splitlines()
    return sum("work_on_call" in line and "raised unexpected" in line for line in lines)


def _begun(plant: Plant, key: str) -> bool:
    return any(effect.key == key for effect in plant.ledger.effects())


@pytest.mark.proves("C9", "E1")
def test_a_read_that_cannot_be_recorded_is_not_answered_and_not_lost(
    plant: Plant, database: Database, results: Results
) -> None:
    with results.of("PostgreSQL cut off", plant) as row:
        caller, key = plant.caller, "db-inline"
        run_id = caller.open_run()
        with ThreadPoolExecutor(1) as pool:
            inline = pool.submit(caller.call, run_id, READ, "pause 2", key=key)
            wait_until(lambda: _begun(plant, key), "the read has begun")
            with _without(database):
                cut_off = inline.result()
        assert cut_off.status == 503
        assert cut_off.body["error"]["code"] in ("record.unavailable", "service.unavailable")
        row.recovered(plant.settled())
        again = plant.caller.call(run_id, READ, "pause 2", key=key)
        assert (again.status, again.body["status"]) == (200, "ok")
        check_invariants(plant.store, plant.ledger)


@pytest.mark.proves("C9", "E1")
def test_without_a_database_nothing_happens_that_is_not_on_record(
    plant: Plant, database: Database, results: Results
) -> None:
    with results.of("PostgreSQL cut off", plant) as row:
        caller, said = plant.caller, len(plant.log("worker"))
        run_id = caller.open_run()
        begun = [
            caller.call(run_id, name, "pause 2", key=f"db-{name}").body["tool_call_id"]
            for name in (POST, POST_BLINDLY)
        ]
        wait_until(lambda: _begun(plant, f"db-{POST_BLINDLY}"), "the write has begun")
        with _without(database):
            refused = [plant.caller.call(run_id, POST, "quick", key=f"cut-{n}") for n in range(5)]
            wait_until(lambda: _ends_lost(plant, said) == 2, "the ends of both are lost")
        assert {answer.status for answer in refused} == {503}
        assert not any(_begun(plant, f"cut-{number}") for number in range(5))
        row.recovered(plant.settled())
        assert plant.store.states(*begun) == ["ok", "unknown_outcome"]
        check_invariants(plant.store, plant.ledger)
