"""Two schedulers at once, no worker at all for a while, and requests that run out meanwhile."""

from __future__ import annotations

import psycopg
import pytest

from tests.faults.deeds import Deed
from tests.faults.ledger_manifests import POST, POST_BLINDLY, WIPE
from tests.faults.plant import Plant, wait_until
from tests.faults.results import Results
from tests.faults.trouble import Trouble

WRITES, REQUESTS = 24, 6
_TERMINAL = (
    "SELECT row.status FROM audit_decisionrow row JOIN gateway_toolcall call "
    "ON call.decision_id = row.decision_id WHERE call.tool_call_id = %s ORDER BY row.seq"
)
_EVENTS = (
    "SELECT count(*) FROM audit_auditevent WHERE action = 'approval.expired' AND subject_id = %s"
)


@pytest.mark.proves("C12")
def test_calls_taken_while_no_worker_ran_are_made_once_there_are_some(
    plant: Plant, results: Results
) -> None:
    with results.of("All workers down, then up", plant) as row:
        met = Trouble(plant, "no-worker")
        met.begin_writes(text="pause 2")
        plant.kill("worker")
        for number in range(WRITES):
            assert met.propose((POST, POST_BLINDLY)[number % 2], f"no-worker-{number}") == 202
        plant.start_worker()
        met.recover(row)


@pytest.mark.proves("C12", "D4")
def test_under_two_schedulers_every_timer_goes_off_once(plant: Plant, results: Results) -> None:
    with results.of("Two schedulers, two sealers", plant, points=REQUESTS) as row:
        plant.start_beat("beat-2")
        try:
            met = Trouble(plant, "schedulers")
            deeds = [Deed(plant, WIPE, f"expires-{number}") for number in range(REQUESTS)]
            for deed in deeds:
                deed.begin()
                deed.propose()
            for number in range(WRITES):
                met.propose((POST, POST_BLINDLY)[number % 2], f"schedulers-{number}")
            _run_out(plant, deeds)
            wait_until(lambda: _all_ended(plant, deeds), "every request has run out", seconds=30)
            met.recover(row)
        finally:
            plant.kill("beat-2")
        _assert_expired_once_and_for_good(plant, deeds)
        attempts = [effect.attempt for effect in plant.ledger.of(*met.taken.values())]
        assert attempts == [1] * len(met.taken)


def _run_out(plant: Plant, deeds: list[Deed]) -> None:
    """Their time is up by the row, as if a day had passed."""
    ids = [deed.tool_call_id() for deed in deeds]
    past = "UPDATE approvals_approvalrequest SET expires_at = created_at WHERE subject_id = ANY(%s)"
    with psycopg.connect(plant.database_url, autocommit=True) as connection:
        connection.execute(past.encode(), [ids])


def _all_ended(plant: Plant, deeds: list[Deed]) -> bool:
    ids = [deed.tool_call_id() for deed in deeds]
    return set(plant.store.states(*ids)) == {"rejected"}


def _assert_expired_once_and_for_good(plant: Plant, deeds: list[Deed]) -> None:
    for deed in deeds:
        name, request = deed.tool_call_id(), deed.request()
        assert request is not None
        statuses = [status for (status,) in plant.store.rows(_TERMINAL, [name])]
        assert statuses == ["PROPOSED", "EXPIRED"]
        assert plant.store.rows(_EVENTS, [request[0]]) == [(1,)]
        deed.vote()
        assert plant.approvers is not None
        assert plant.approvers.vote(request[0]).status == 409
        assert not plant.ledger.of(name)
