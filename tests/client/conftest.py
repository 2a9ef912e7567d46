"""The real gateway on a real port, for the client to speak to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.live_server_helper import LiveServer

from contextos_client import Client
from tests.gateway.conftest import function_runner, ledger  # noqa: F401 - fixtures
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld, with_work=True)


@pytest.fixture
def client(world: GatewayWorld, live_server: LiveServer) -> Iterator[Client]:
    with Client(live_server.url, world.agent_token) as ready:
        yield ready
