"""The houses of the registry's tests, and a world whose calls a real runner serves."""

import pytest

from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry.conftest import house, neighbour

__all__ = ["house", "neighbour"]


@pytest.fixture
def world(db: None, function_runner: None) -> GatewayWorld:
    """Orders, notes and reports, published and permitted."""
    return ready(GatewayWorld, with_work=True)


@pytest.fixture
def elsewhere(db: None) -> GatewayWorld:
    """Another tenant with the same things; made, since a recorded world needs an empty database."""
    return GatewayWorld()
