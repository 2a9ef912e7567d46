"""The guide's way to check our signed word, run as an adapter's author would run it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from django.test import Client

from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import make_credential, oauth
from tests.gateway.credentials.world import LedgerWorld

GUIDE = Path(__file__).parents[3] / "docs/guides/manifest-author/signed-metadata.md"
pytestmark = [pytest.mark.django_db, pytest.mark.proves("C8")]


@pytest.fixture
def keys() -> Iterator[str]:
    """Our published keys at an address, as an adapter fetches them."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(Client().get("/.well-known/jwks.json").content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{listener.server_port}/.well-known/jwks.json"
    listener.shutdown()
    listener.server_close()
    thread.join()


@pytest.fixture(scope="module")
def guide() -> dict[str, Any]:
    (snippet,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(snippet, names)
    return names


def test_the_guides_snippet_believes_us_and_nobody_else(
    world: LedgerWorld, server: AuthorizationServer, keys: str, guide: dict[str, Any]
) -> None:
    make_credential(world.tenant, "client_credentials", **oauth(server))
    answer = world.call()
    token = world.ledger.seen[0]["x-contextos-metadata"]
    client = jwt.PyJWKClient(keys)
    claims = guide["verified_metadata"](token, adapter_id="adp_ledger", keys=client)
    assert claims["decision_id"] == answer.json()["decision_id"]
    with pytest.raises(jwt.InvalidAudienceError):
        guide["verified_metadata"](token, adapter_id="adp_other", keys=client)
    head, body, signature = token.split(".")
    with pytest.raises(jwt.InvalidTokenError):
        guide["verified_metadata"](
            f"{head}.{body}.{signature[::-1]}", adapter_id="adp_ledger", keys=client
        )
    with pytest.raises(jwt.InvalidTokenError):  # a token of ours for another purpose
        guide["verified_metadata"](world.gateway.agent_token, adapter_id="adp_ledger", keys=client)
