"""Fixtures of the registry's tests."""

from __future__ import annotations

import pytest

from tests.recorded_worlds import ready
from tests.registry.house import House, staffed


@pytest.fixture
def house(db: None) -> House:
    """A tenant with its people."""
    return ready(staffed)


@pytest.fixture
def neighbour(db: None) -> House:
    """Another tenant, which must neither see nor touch anything of the first."""
    return House()
