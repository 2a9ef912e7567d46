"""A running authorization server, and a process that remembers no token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.credentials.tokens import token_cache
from tests.gateway.credentials.ledger import Ledger, keeping
from tests.gateway.credentials.oauth_server import AuthorizationServer, serving
from tests.gateway.credentials.world import LedgerWorld


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    token_cache().clear()
    yield
    token_cache().clear()


@pytest.fixture
def server() -> Iterator[AuthorizationServer]:
    with serving(AuthorizationServer()) as running:
        yield running


@pytest.fixture
def world(
    db: None, server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LedgerWorld]:
    with keeping(Ledger(server)) as ledger:
        built = LedgerWorld(ledger)
        built.connect(monkeypatch)
        yield built
