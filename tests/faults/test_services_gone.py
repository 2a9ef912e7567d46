"""The broker or the database goes away in mid-work and comes back."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.invariants import check_invariants
from tests.faults.ledger_manifests import POST, POST_BLINDLY, READ
from tests.faults.plant import Plant, wait_until
from tests.faults.services import Broker, Database

WHILE_GONE = 12


@pytest.mark.proves("C12")
def test_writes_are_taken_without_a_broker_and_made_once_it_is_back(
    plant: Plant, broker: Broker
) -> None:
    caller = plant.caller
    run_id = caller.open_run()
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
    plant.settled(seconds=60)
    assert set(plant.store.states(*ids)) == {"ok"}
    assert len(plant.ledger.of(*ids)) == WHILE_GONE
    check_invariants(plant.store, plant.ledger)


@pytest.mark.proves("C9", "E1")
def test_without_a_database_nothing_happens_that_is_not_on_record(
    plant: Plant, database: Database
) -> None:
    caller = plant.caller
    run_id, before = caller.open_run(), len(plant.ledger.effects())
    begun = [
        caller.call(run_id, name, "pause 1.5", key=f"db-{name}").body["tool_call_id"]
        for name in (POST, POST_BLINDLY)
    ]
    with ThreadPoolExecutor(1) as pool:
        inline = pool.submit(caller.call, run_id, READ, "pause 1.5", key="db-inline")
        wait_until(lambda: len(plant.ledger.effects()) == before + 3, "all three have begun")
        database.cut()
        try:
            cut_off = inline.result()
            refused = [caller.call(run_id, POST, "quick", key=f"cut-{n}") for n in range(5)]
        finally:
            database.give_back()
    assert cut_off.status == 503
    assert {answer.status for answer in refused} == {503}
    assert len(plant.ledger.effects()) == before + 3, "nothing was begun without a record"
    plant.settled(seconds=60)
    assert plant.store.states(*begun) == ["ok", "unknown_outcome"]
    again = caller.call(run_id, READ, "pause 1.5", key="db-inline")
    assert (again.status, again.body["status"]) == (200, "ok")
    check_invariants(plant.store, plant.ledger)
