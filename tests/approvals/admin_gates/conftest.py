"""A house whose gates are looked at, and another one next door."""

from __future__ import annotations

import pytest

from tests.approvals.admin_gates.visits import GateHouse, staffed_gate_house
from tests.recorded_worlds import ready


@pytest.fixture
def house(db: None) -> GateHouse:
    """One tenant."""
    return ready(staffed_gate_house)


@pytest.fixture
def neighbour(house: GateHouse) -> GateHouse:
    """Another tenant, made beside the first."""
    return GateHouse()
