"""Signing keys are rotated while calls are made: tokens hold, the log goes on under the new key."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter

import pytest

from tests.faults.ledger_manifests import POST, POST_BLINDLY, READ
from tests.faults.plant import Plant
from tests.faults.results import Results
from tests.faults.trouble import Trouble

ALL = ("tokens", "log", "metadata", "manifests", "exports")
PURPOSES = ALL if os.environ.get("CONTEXTOS_FAULTS_LONG") else ("tokens", "log")
CALLERS = 2
_KIDS = "SELECT count(DISTINCT kid) FROM audit_checkpoint WHERE tenant_id = %s"


@pytest.mark.proves("C2", "E2")
def test_a_rotation_under_load_refuses_nobody_and_the_log_stays_one(
    plant: Plant, results: Results
) -> None:
    with results.of("Signing keys rotated in flight", plant, points=len(PURPOSES)) as row:
        troubles = [Trouble(plant, f"rotated-{number}") for number in range(CALLERS)]
        over, statuses = threading.Event(), Counter[int]()
        callers = [
            threading.Thread(target=_call_on, args=[met, over, statuses]) for met in troubles
        ]
        for caller in callers:
            caller.start()
        for purpose in PURPOSES:
            plant.manage("rotate_keys", "--purpose", purpose, "--reason", "A drill.")
        over.set()
        for caller in callers:
            caller.join()
        assert set(statuses) <= {200, 202}, [dict(met.codes) for met in troubles]
        for met in troubles:
            met.recover(row)
        assert plant.store.rows(_KIDS, [plant.ready["tenant_id"]])[0][0] >= 2
        plant.manage("verify_log")


def _call_on(met: Trouble, over: threading.Event, statuses: Counter[int]) -> None:
    """Until it is over, at a steady pace."""
    number = 0
    while not over.is_set():
        kind = (READ, POST, POST_BLINDLY)[number % 3]
        statuses[met.propose(kind, f"{met.name}-{number}")] += 1
        number += 1
        if number % 150 == 0:
            met.run_id = met.plant.caller.open_run()
        time.sleep(0.3)  # workers keep up with it
