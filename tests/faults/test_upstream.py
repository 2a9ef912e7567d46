"""The far side times out, breaks off, or does it and never says so."""

from __future__ import annotations

import pytest

from tests.faults.ledger_manifests import POST, POST_BLINDLY, REPORT
from tests.faults.plant import Plant
from tests.faults.results import Results
from tests.faults.trouble import Trouble

EACH = 3


@pytest.mark.proves("C9", "C12")
@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("Upstream breaks off after its effect", "break"),
        ("Upstream does it and answers too late", "dawdle"),
    ],
)
def test_a_write_without_an_answer_is_repeated_only_where_the_adapter_knows_its_keys(
    plant: Plant, results: Results, fault: str, text: str
) -> None:
    with results.of(fault, plant) as row:
        met = Trouble(plant, f"upstream-{text}")
        for number in range(EACH):
            for capability in (POST, POST_BLINDLY):
                assert met.propose(capability, f"{text}-{capability}-{number}", text) == 202
        plant.settled()
        ends = {key: plant.store.states(name)[0] for key, name in met.taken.items()}
        assert {end for key, end in ends.items() if f"{POST}-" in key} == {"ok"}
        assert {end for key, end in ends.items() if POST_BLINDLY in key} == {"unknown_outcome"}
        assert len(plant.ledger.of(*met.taken.values())) == 2 * EACH
        met.recover(row)


@pytest.mark.proves("C9", "C12")
def test_a_read_that_broke_off_is_made_again(plant: Plant, results: Results) -> None:
    with results.of("Upstream breaks off after its effect", plant) as row:
        met = Trouble(plant, "upstream-read")
        assert met.propose(REPORT, "upstream-read", "break") == 202
        plant.settled()
        assert plant.store.states(met.taken["upstream-read"]) == ["ok"]
        met.recover(row)
