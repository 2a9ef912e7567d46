"""Thousands of calls with repeats while workers die: at most one effect per key, all settled."""

from __future__ import annotations

import sys

import pytest

from tests.faults.invariants import check_invariants
from tests.faults.plant import Plant
from tests.faults.storm import Storm

CALLS, LEAST_CALLS = 10_000, 3_000
STORM_SECONDS = 110.0
THREADS = 16


@pytest.mark.proves("C9", "C12", "E1")
def test_a_storm_with_killed_workers_loses_nothing_and_doubles_nothing(
    plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Storm(plant, calls=CALLS, seconds=STORM_SECONDS, threads=THREADS).rage()
    calm = plant.settled(seconds=120)
    found = check_invariants(plant.store, plant.ledger, answered=tally.answered)
    with capsys.disabled():
        sys.stdout.write(
            f"\nstorm: {tally.sent} of {CALLS} calls in {tally.seconds:.0f} s, "
            f"{tally.kills} kills, {len(tally.answered)} keys, answers {dict(tally.statuses)}, "
            f"{tally.unanswered} unanswered; calm after {calm:.0f} s: {found}\n"
        )
    assert tally.sent >= LEAST_CALLS
    assert tally.kills >= 10
    assert not tally.contradictions
    assert set(tally.statuses) <= {200, 202, 409}
