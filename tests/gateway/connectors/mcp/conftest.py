"""One server for a module; no session outlives a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.connectors.mcp.portal import close_sessions
from tests.gateway.connectors.mcp.sdk_server import SdkServer, sdk_server


@pytest.fixture(autouse=True)
def _closed_sessions() -> Iterator[None]:
    yield
    close_sessions()


@pytest.fixture(scope="module")
def server() -> Iterator[SdkServer]:
    with sdk_server() as running:
        yield running
