"""A relaxed manifest opens no private address on an installation that is not relaxed itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contextos.env import PRODUCTION_LIKE
from contextos.net import close_pools
from gateway.icons import fetch_icons
from tests.net.upstreams import answering, http_answer, upstream
from tests.registry.house import House
from tests.registry.manifests import orders
from tests.registry.test_icons import drawn


@pytest.fixture(autouse=True)
def _closed_pools() -> Iterator[None]:
    yield
    close_pools()


@pytest.mark.proves("C11")
@pytest.mark.parametrize("installation", PRODUCTION_LIKE)
def test_a_development_manifest_reaches_no_private_host(
    house: House, settings: Any, installation: str
) -> None:
    settings.CONTEXTOS_ENV = installation
    with upstream(answering(http_answer(drawn(), headers="Content-Type: image/png\r\n"))) as server:
        manifest = orders(environment="development")
        source = {"src": f"{server.url}/i.png", "mimeType": "image/png"}
        manifest["capabilities"][0]["icons"] = [source]
        version = house.in_review(manifest)
        outcome = fetch_icons(version=version, actor=house.actor("reviewer"))
    assert (outcome.made, outcome.refused) == (0, 1)
    assert server.connections == 0
