"""A tenant in which a lot has happened, and the runner that let it happen."""

from __future__ import annotations

import pytest

from tests.approvals.world import GateWorld
from tests.gateway.figures.traffic import Traffic
from tests.recorded_worlds import ready


@pytest.fixture
def world(transactional_db: None, function_runner: None) -> GateWorld:
    """Lookups, and refunds behind a gate."""
    return ready(GateWorld)


@pytest.fixture
def traffic(world: GateWorld) -> Traffic:
    """Ways to make something happen."""
    return Traffic(world)
