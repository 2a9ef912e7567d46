"""The world with every kind of decision in it, and a guard against sockets."""

from __future__ import annotations

import pytest

from tests.gateway.conftest import function_runner, ledger  # noqa: F401 - fixtures
from tests.gateway.replaying.story import StoryWorld
from tests.recorded_worlds import ready


@pytest.fixture
def world(db: None, function_runner: None) -> StoryWorld:  # noqa: F811 - the fixture
    """One decision of every kind, made once a process."""
    return ready(StoryWorld, with_work=True)
