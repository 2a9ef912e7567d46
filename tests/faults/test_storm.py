"""Thousands of calls with repeats while workers die: at most one effect per key, all settled."""

from __future__ import annotations

import os
import sys

import pytest

from tests.faults.invariants import check_invariants
from tests.faults.plant import Plant
from tests.faults.storm import Storm

# `make faults` rages for three quarters of a minute, `make faults LONG=1` until 10,000 calls.
LONG = bool(os.environ.get("CONTEXTOS_FAULTS_LONG"))
CALLS, STORM_SECONDS = 10_000, 600.0 if LONG else 45.0
LEAST_CALLS, LEAST_KILLS = (10_000, 50) if LONG else (1_000, 5)
THREADS = 16


@pytest.mark.proves("C9", "C12", "E1", "E2")
def test_a_storm_with_killed_workers_loses_nothing_and_doubles_nothing(
    plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Storm(plant, calls=CALLS, seconds=STORM_SECONDS, threads=THREADS).rage()
    calm = plant.settled(seconds=120)
    sealed = plant.sealed()
    found = check_invariants(plant.store, plant.ledger, answered=tally.answered)
    with capsys.disabled():
        sys.stdout.write(
            f"\nstorm: {tally.sent} of {CALLS} calls in {tally.seconds:.0f} s, "
            f"{tally.kills} kills, {len(tally.answered)} keys, answers {dict(tally.statuses)}, "
            f"{tally.unanswered} unanswered; calm after {calm:.0f} s, "
            f"sealed after {sealed:.1f} s: {found}\n"
        )
    assert tally.sent >= LEAST_CALLS
    assert tally.kills >= LEAST_KILLS
    assert not tally.contradictions
    assert set(tally.statuses) <= {200, 202, 409}
