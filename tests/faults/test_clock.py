"""Clocks ten minutes fast and slow, and jumping: nothing is doubled, what ended stays ended."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.faults.deeds import Deed
from tests.faults.ledger_manifests import POST, POST_BLINDLY, WIPE
from tests.faults.plant import Plant
from tests.faults.results import Results
from tests.faults.trouble import Trouble

TEN_MINUTES = 600
WAYS = (1, -1) if os.environ.get("CONTEXTOS_FAULTS_LONG") else (1,)
WRITES = 12
_SOON = (
    "UPDATE approvals_approvalrequest SET expires_at = now() + interval '9 minutes' "
    "WHERE subject_id = %s"
)


@pytest.fixture
def clocks(plant: Plant) -> Iterator[Plant]:
    if plant.clocks.library is None:
        pytest.skip("a wrong clock is a few lines of C, and there is no compiler here")
    yield plant
    for process in ("web", "worker", "worker-2", "sealer-1", "sealer-2", "beat"):
        plant.clocks.set(process, ahead=0)


@pytest.mark.proves("C9", "C12", "E1", "E2")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: "web fast" if way > 0 else "web slow")
def test_processes_whose_clocks_are_twenty_minutes_apart_double_nothing(
    clocks: Plant, results: Results, way: int
) -> None:
    plant = clocks
    with results.of("Clocks ten minutes fast and slow", plant) as row:
        plant.start_worker("worker-2")
        try:
            met = Trouble(plant, f"apart{way}")
            met.begin_writes(text="pause 2")
            told = {"web": 1, "worker": -1, "worker-2": 1, "sealer-1": -1, "sealer-2": 1}
            for process, direction in told.items():
                plant.clocks.set(process, ahead=way * direction * TEN_MINUTES)
            for number in range(WRITES):
                capability = (POST, POST_BLINDLY)[number % 2]
                assert met.propose(capability, f"apart{way}-{number}", "pause 0.3") == 202
            met.recover(row)
        finally:
            plant.kill("worker-2")
        assert len(plant.ledger.of(*met.taken.values())) <= len(met.taken)


@pytest.mark.proves("D4")
def test_a_request_that_expired_stays_so_when_the_clock_is_set_back(
    clocks: Plant, results: Results
) -> None:
    plant = clocks
    with results.of("Clocks set back after an expiry", plant):
        deed = Deed(plant, WIPE, "expired-by-the-clock")
        deed.begin()
        deed.propose()
        with psycopg.connect(plant.database_url, autocommit=True) as connection:
            connection.execute(_SOON.encode(), [deed.tool_call_id()])
        plant.clocks.set("worker", ahead=TEN_MINUTES)
        plant.ended(deed.tool_call_id())
        plant.clocks.set("worker", ahead=0)
        request = deed.request()
        assert request is not None
        assert plant.approvers is not None
        assert plant.approvers.vote(request[0]).status == 409
        assert plant.store.states(deed.tool_call_id()) == ["rejected"]
        assert not plant.ledger.of(deed.tool_call_id())
