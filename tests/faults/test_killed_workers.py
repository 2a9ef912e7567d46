"""`kill -9` in mid-call, of Celery and of the embedded worker: nothing lost, nothing doubled."""

from __future__ import annotations

import http.client

import pytest

from tests.faults.invariants import check_invariants
from tests.faults.ledger_manifests import POST, POST_BLINDLY, REPORT
from tests.faults.plant import Plant, wait_until
from tests.faults.results import Results

ONE_OF_EACH = (POST, POST_BLINDLY, REPORT)


def _warm(plant: Plant, run_id: str, tag: str) -> None:
    """Let every child of the worker start its runner, so that an attempt begins at once."""
    texts = [f"pause 0.{number}" for number in (7, 8, 9)]
    for number, text in enumerate(texts):
        plant.caller.call(run_id, POST, text, key=f"{tag}-warm-{number}")
    plant.settled()


def _dawdling(plant: Plant, tag: str) -> list[str]:
    """One call of each kind, all three in the middle of their attempt; their ids."""
    run_id = plant.caller.open_run()
    _warm(plant, run_id, tag)
    answers = [
        plant.caller.call(run_id, name, "dawdle", key=f"{tag}-{name}") for name in ONE_OF_EACH
    ]
    assert [answer.status for answer in answers] == [202, 202, 202]
    ids = [answer.body["tool_call_id"] for answer in answers]
    wait_until(lambda: len(plant.ledger.of(*ids)) == 3, "all three have begun", seconds=20)
    return ids


def _assert_each_ended_by_its_rule(plant: Plant, ids: list[str]) -> None:
    known, blind, read = ids
    assert plant.store.states(known, blind, read) == ["ok", "unknown_outcome", "ok"]
    assert len(plant.ledger.of(known)) == 1, "the same key went to an adapter that knows keys"
    assert len(plant.ledger.of(blind)) == 1, "a write that may have happened is never repeated"
    assert [effect.attempt for effect in plant.ledger.of(read)] == [1, 2]
    check_invariants(plant.store, plant.ledger)


def _reconcile_page(plant: Plant) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", plant.port, timeout=30)
    cookie = f"sessionid={plant.ready['operator_session']}"
    connection.request("GET", "/admin/gateway/reconcile/", headers={"Cookie": cookie})
    answer = connection.getresponse()
    page = answer.read().decode()
    connection.close()
    assert answer.status == 200
    return page


@pytest.mark.proves("C9", "C12")
def test_a_killed_celery_worker_loses_nothing_and_doubles_nothing(
    plant: Plant, results: Results
) -> None:
    with results.of("`kill -9` of the worker in mid-call", plant) as row:
        ids = _dawdling(plant, "celery")
        plant.kill("worker")
        plant.start_worker()
        row.recovered(plant.settled(seconds=40))
        _assert_each_ended_by_its_rule(plant, ids)
        assert ids[1] in _reconcile_page(plant)


@pytest.mark.proves("C9", "C12")
def test_a_killed_embedded_worker_loses_nothing_and_doubles_nothing(
    embedded_plant: Plant, results: Results
) -> None:
    with results.of("`kill -9` of the embedded worker in mid-call", embedded_plant) as row:
        ids = _dawdling(embedded_plant, "embedded")
        embedded_plant.kill("worker")
        embedded_plant.start_embedded()
        row.recovered(embedded_plant.settled(seconds=40))
        _assert_each_ended_by_its_rule(embedded_plant, ids)
        assert ids[1] in _reconcile_page(embedded_plant)
