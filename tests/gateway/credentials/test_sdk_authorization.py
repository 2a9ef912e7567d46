"""A consent given at an authorization server nobody here wrote, for the MCP server behind it."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from gateway.connectors.mcp.portal import close_sessions
from gateway.consents.services import revoke_consent
from gateway.consents.trips import redirect_uri
from gateway.credentials.tokens import token_cache
from gateway.models import Consent, ConsentRequest
from gateway.worker import work_on
from tests.factories import SYSTEM, make_user_token
from tests.gateway.connectors.mcp.governed import CALLS, last_record, probe_world
from tests.gateway.connectors.mcp.sdk_server import SdkServer, sdk_server
from tests.gateway.credentials.rows import make_credential
from tests.gateway.credentials.sdk_authorization import Issuer
from tests.gateway.credentials.test_consents import onward, page_of
from tests.gateway.world import GatewayWorld
from tests.identity.signed_in import browser_of

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C7", "A1")]
# As they have to be encoded for Basic: a "+" for the space would not be read.
CLIENT_ID, SECRET = "contextos client", "s3cret/+%:"


@pytest.fixture(params=["client_secret_basic", "client_secret_post"])
def issuer(request: pytest.FixtureRequest) -> Issuer:
    client = OAuthClientInformationFull(
        client_id=CLIENT_ID,
        client_secret=SECRET,
        redirect_uris=[AnyUrl(redirect_uri())],
        scope="read write",
        token_endpoint_auth_method=request.param,
    )
    return Issuer(client)


@pytest.fixture
def far(issuer: Issuer) -> Iterator[SdkServer]:
    with sdk_server(guard=issuer.guard) as running:
        yield running
        close_sessions()


@pytest.fixture
def world(issuer: Issuer, far: SdkServer) -> GatewayWorld:
    auth = {
        "type": "oauth2",
        "resource": far.url,
        "token_audience": "probe",
        "initial_scopes": ["read"],
        "allow_token_passthrough": False,
    }
    world = probe_world(far.url, auth=auth)
    make_credential(
        world.house.tenant,
        "authorization_code",
        adapter_id="adp_probe",
        secret=issuer.client.client_secret,
        issuer=far.origin,
        token_endpoint=f"{far.origin}/token",
        authorization_endpoint=f"{far.origin}/authorize",
        revocation_endpoint=f"{far.origin}/revoke",
        client_id=CLIENT_ID,
        client_auth=issuer.client.token_endpoint_auth_method,
    )
    return world


class Ada:
    """The person, her agent's calls and her browser."""

    def __init__(self, world: GatewayWorld) -> None:
        self.world = world
        user = world.house.user("operator")
        self.browser = browser_of(user, world.house.tenant)
        self.delegation = make_user_token(user, world.house.tenant).token
        run = world.post(
            "/api/v1/runs", world.run_body(environment="development"), delegation=self.delegation
        )
        self.run_id = run.json()["run_id"]

    def calls(self, text: str) -> Any:
        body = {"run_id": self.run_id, "capability_id": "probe.say", "args": {"text": text}}
        return self.world.post(CALLS, body, delegation=self.delegation)

    def consents(self, page: str) -> Any:
        """Through the SDK's own authorization page, which asks nobody anything."""
        there = urlsplit(onward(self.browser, page))
        server = HTTPConnection(there.netloc, timeout=10)
        server.request("GET", f"{there.path}?{there.query}")
        answer = server.getresponse()
        assert answer.status == 302, answer.read()
        back = urlsplit(answer.headers["location"])
        server.close()
        return self.browser.get(f"{back.path}?{back.query}")


def test_the_person_consents_the_token_is_renewed_and_taken_back(
    world: GatewayWorld, issuer: Issuer
) -> None:
    ada = Ada(world)
    paused = ada.calls("first")
    assert paused.status_code == 202, paused.content
    assert ada.consents(page_of(paused)).status_code == 302
    assert work_on(paused.json()["tool_call_id"])
    ended = world.get(f"{CALLS}/{paused.json()['tool_call_id']}", delegation=ada.delegation)
    assert ended.json()["result"]["output"] == {"echo": "first"}, ended.content
    assert last_record(world, paused.json())["credentials"]["scopes_granted"] == ["read"]
    (first,) = issuer.access

    issuer.access.clear()  # the server forgets the token, not the grant
    token_cache().clear()
    assert ada.calls("second").json()["output"] == {"echo": "second"}
    (second,) = issuer.access
    assert first != second

    revoke_consent(consent_id=Consent.objects.get().pk, actor=SYSTEM, reason="left the team")
    assert ada.calls("third").status_code == 202
    if issuer.client.token_endpoint_auth_method == "client_secret_post":
        # With Basic the SDK's revocation refuses a form that holds no secret as well.
        assert issuer.refresh == {}


def test_a_token_for_another_server_is_refused_there(world: GatewayWorld, issuer: Issuer) -> None:
    ada = Ada(world)
    paused = ada.calls("first")
    assert ada.consents(page_of(paused)).status_code == 302
    for token, held in issuer.access.items():
        issuer.access[token] = held.model_copy(update={"resource": "https://else.example.com"})
    issuer.refresh.clear()
    work_on(paused.json()["tool_call_id"])
    again = world.get(f"{CALLS}/{paused.json()['tool_call_id']}", delegation=ada.delegation)
    assert again.json()["result"]["status"] == "paused"  # the person is asked anew
    assert sorted(ConsentRequest.objects.values_list("state", flat=True)) == ["granted", "pending"]
