"""`kill -9` of the web server while it answers: what it accepted is brought to its end."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.faults.caller import Answer, Unanswered
from tests.faults.invariants import check_invariants
from tests.faults.ledger_manifests import POST, POST_BLINDLY, READ
from tests.faults.plant import Plant, wait_until
from tests.faults.results import Results

WRITERS, WRITES = 8, 120 if os.environ.get("CONTEXTOS_FAULTS_LONG") else 60


@pytest.mark.proves("C9", "C12")
def test_an_inline_read_outlives_the_web_server_that_made_it(
    plant: Plant, results: Results
) -> None:
    with results.of("`kill -9` of web in mid-call", plant) as row:
        caller, key = plant.caller, "inline-read"
        run_id = caller.open_run()
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(caller.call, run_id, READ, "dawdle", key=key)
            wait_until(lambda: bool(_reads(plant, key)), "the read has begun", seconds=20)
            plant.kill("web")
            with pytest.raises(Unanswered):
                asked.result()
        accepted = _reads(plant, key)[0]
        plant.start_web()
        row.recovered(plant.settled(seconds=40))
        again = plant.caller.call(run_id, READ, "dawdle", key=key)
        assert (again.status, again.body["status"]) == (200, "ok")
        assert again.body["tool_call_id"] == accepted
        check_invariants(plant.store, plant.ledger, answered={key: accepted})


@pytest.mark.proves("C9", "C12")
def test_writes_accepted_by_a_web_server_that_dies_are_made_once(
    plant: Plant, results: Results
) -> None:
    with results.of("`kill -9` of web in mid-call", plant) as row:
        run_id = plant.caller.open_run()
        with ThreadPoolExecutor(WRITERS) as pool:
            asked = {key: pool.submit(_write, plant, run_id, key) for key in _keys()}
            wait_until(
                lambda: _accepted(plant, run_id) >= WRITES // 4, "some are accepted", seconds=40
            )
            plant.kill("web")
        told = {key: answer for key, future in asked.items() if (answer := _told(future))}
        assert 0 < len(told) < WRITES, "the kill came in the middle"
        plant.start_web()
        again = {key: _write(plant, run_id, key) for key in asked}
        assert {answer.status for answer in again.values()} <= {200, 202, 409}
        row.recovered(plant.settled(seconds=60))
        for key, first in told.items():
            assert again[key].body["tool_call_id"] in (first, None)
        last = {key: _write(plant, run_id, key) for key in asked}
        assert {answer.body["status"] for answer in last.values()} == {"ok"}
        answered = {key: answer.body["tool_call_id"] for key, answer in last.items()}
        assert {key: answered[key] for key in told} == told
        assert len(plant.ledger.of(*answered.values())) == WRITES
        check_invariants(plant.store, plant.ledger, answered=answered)


def _keys() -> list[str]:
    return [f"web-{number}" for number in range(WRITES)]


def _write(plant: Plant, run_id: str, key: str) -> Answer:
    capability = POST if int(key.rpartition("-")[2]) % 2 else POST_BLINDLY
    return plant.caller.call(run_id, capability, "quick", key=key)


def _told(future: Future[Answer]) -> str | None:
    """What the caller was answered; None when the server was gone."""
    try:
        return str(future.result().body["tool_call_id"])
    except Unanswered:
        return None


def _reads(plant: Plant, key: str) -> list[str]:
    return [effect.tool_call_id for effect in plant.ledger.effects() if effect.key == key]


def _accepted(plant: Plant, run_id: str) -> int:
    sql = "SELECT count(*) FROM gateway_toolcall WHERE run_id = %s"
    return int(plant.store.rows(sql, [run_id])[0][0])
