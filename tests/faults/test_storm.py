"""Thousands of calls with repeats while workers die: at most one effect per key, all settled."""

from __future__ import annotations

import os
import sys
import time

import pytest

from tests.faults.invariants import check_invariants
from tests.faults.plant import Plant
from tests.faults.results import RECOVERY_SECONDS, Results
from tests.faults.storm import Storm

# `make faults` rages for five hundred calls, `make faults LONG=1` for ten thousand.
LONG = bool(os.environ.get("CONTEXTOS_FAULTS_LONG"))
CALLS, STORM_SECONDS = (10_000, 1500.0) if LONG else (500, 240.0)
LEAST_KILLS = 50 if LONG else 5
THREADS = 16


@pytest.mark.proves("C9", "C12", "E1", "E2")
def test_a_storm_with_killed_workers_loses_nothing_and_doubles_nothing(
    plant: Plant, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    with results.of("Storm: repeats, timeouts, kills", plant) as row:
        tally = Storm(
            plant, calls=CALLS, kills=LEAST_KILLS, seconds=STORM_SECONDS, threads=THREADS
        ).rage()
        row.points += tally.kills - 1
        over = time.monotonic()
        row.recovered(plant.worked_off(pause=RECOVERY_SECONDS))  # what it left in the queue
        calm = time.monotonic() - over
        sealed = plant.sealed()
        row.recovered(sealed)
        found = check_invariants(
            plant.store, plant.ledger, answered=tally.answered, told=tally.ended
        )
        with capsys.disabled():
            sys.stdout.write(
                f"\nstorm: {tally.sent} of {CALLS} calls in {tally.seconds:.0f} s, "
                f"{tally.repeats} repeats, {tally.stalls} timeouts, {tally.kills} kills, "
                f"{len(tally.cancelled)} cancelled, "
                f"{len(tally.answered)} keys, answers {dict(tally.statuses)}, "
                f"{tally.unanswered} unanswered; calm after {calm:.0f} s, "
                f"sealed after {sealed:.1f} s: {found}\n"
            )
        assert tally.sent >= CALLS
        assert tally.kills >= LEAST_KILLS
        assert tally.repeats >= 0.2 * CALLS
        assert tally.stalls >= 0.1 * CALLS
        assert tally.cancelled, "somebody called one off in time"
        assert found.states["unknown_outcome"] >= tally.stalls / 4, "what stalls runs out of time"
        assert not tally.contradictions
        assert set(tally.statuses) <= {200, 202, 409}
