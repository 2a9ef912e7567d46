"""A thousand callers with the same key at once: one effect, one row, one answer."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.invariants import check_invariants
from tests.faults.ledger_manifests import POST_BLINDLY, READ
from tests.faults.plant import Plant

LONG = bool(os.environ.get("CONTEXTOS_FAULTS_LONG"))
CROWD, READERS, THREADS = 1000, 1000 if LONG else 300, 32


@pytest.mark.proves("C9")
@pytest.mark.parametrize(("capability", "crowd"), [(POST_BLINDLY, CROWD), (READ, READERS)])
def test_a_thousand_identical_calls_are_one_call(plant: Plant, capability: str, crowd: int) -> None:
    caller, key = plant.caller, f"crowd-{capability}"
    run_id = caller.open_run()
    with ThreadPoolExecutor(THREADS) as pool:
        asked = [
            pool.submit(caller.call, run_id, capability, "pause 0.5", key=key) for _ in range(crowd)
        ]
        answers = [future.result() for future in asked]
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {200, 202, 409}, statuses
    told = {answer.body["tool_call_id"] for answer in answers if answer.status != 409}
    assert len(told) == 1, told
    assert {a.body["error"]["code"] for a in answers if a.status == 409} <= {
        "idempotency.in_flight"
    }
    plant.settled()
    rows = plant.store.rows("SELECT tool_call_id FROM gateway_toolcall WHERE run_id = %s", [run_id])
    assert [row[0] for row in rows] == list(told)
    assert len(plant.ledger.of(*told)) == 1
    check_invariants(plant.store, plant.ledger, answered={key: told.pop()})
