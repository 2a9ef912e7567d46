"""A house whose gates are looked at, and another one next door."""

from __future__ import annotations

import pytest

from tests.approvals.admin_gates.visits import GateHouse


@pytest.fixture
def house(db: None) -> GateHouse:
    """One tenant."""
    return GateHouse()


@pytest.fixture
def neighbour(db: None) -> GateHouse:
    """Another tenant."""
    return GateHouse()
