"""What discovery shows of an adapter's credential: to whom, on whose terms, in whose name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from contextos.identity.services import add_environment
from gateway.connectors.mcp.portal import close_sessions
from gateway.credentials.tokens import token_cache
from gateway.discovery import DISCOVERER, Discovery, discover
from tests.factories import SYSTEM
from tests.gateway.connectors.mcp.governed import probe
from tests.gateway.connectors.mcp.hostile import rpc, speaking
from tests.gateway.credentials.oauth_server import AuthorizationServer, serving
from tests.gateway.credentials.rows import make_credential, oauth
from tests.gateway.credentials.test_renewing import AUTH
from tests.net.upstreams import Call, Upstream, http_answer, upstream
from tests.registry.house import House

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C7", "B5")]
ADAPTER, SECRET = "adp_probe", "canary-of-the-adapter"


def _lists_nothing(call: Call, message: dict[str, Any]) -> None:
    call.send(rpc(message, {"tools": []}))


LISTS = speaking(_lists_nothing, methods="tools/list")


@pytest.fixture(autouse=True)
def _forgetful() -> Iterator[None]:
    token_cache().clear()
    yield
    close_sessions()
    token_cache().clear()


@pytest.fixture
def far() -> Iterator[Upstream]:
    with upstream(LISTS) as running:
        yield running


@pytest.fixture
def house(db: None, far: Upstream) -> House:
    """The probe is published and calls the far server, with a credential."""
    house = House()
    if not house.tenant.environments.filter(name="development").exists():
        add_environment(tenant_id=house.tenant_id, name="development", actor=SYSTEM)
    house.published(probe(f"{far.url}/mcp", auth=AUTH))
    return house


def discovered(house: House, **where: Any) -> Discovery:
    return discover(
        tenant_id=house.tenant_id,
        adapter_id=ADAPTER,
        author=house.user("author"),
        actor=house.actor("author"),
        environment="development",
        **where,
    )


def was_shown(server: Upstream, secret: str) -> bool:
    return secret.encode() in b"".join(server.requests)


def test_it_is_shown_where_a_published_version_sends_calls_and_nowhere_else(
    house: House, far: Upstream
) -> None:
    make_credential(house.tenant, adapter_id=ADAPTER, secret=SECRET)
    with upstream(LISTS) as elsewhere:
        discovered(house, endpoint_ref=f"{elsewhere.url}/mcp")
        assert elsewhere.requests
        discovered(house)  # by now the newest draft points there by itself
        assert not was_shown(elsewhere, SECRET)
    assert not far.requests
    discovered(house, endpoint_ref=f"{far.url}/mcp")
    assert was_shown(far, SECRET)


def test_scopes_are_those_that_were_reviewed_and_nobody_is_named(house: House) -> None:
    with serving(AuthorizationServer()) as server:
        make_credential(house.tenant, "token_exchange", adapter_id=ADAPTER, **oauth(server))
        found = discovered(house)
        wider = {**found.drafted.manifest, "auth": {**AUTH, "initial_scopes": ["write"]}}
        house.edit(found.version, wider, by="author")
        token_cache().clear()
        discovered(house)
        assert {form["scope"] for form in server.asked} == {"read"}
        assert {token["sub"] for token in server.tokens.values()} == {DISCOVERER}


def test_a_server_that_wants_one_where_none_may_be_shown_is_said_so(house: House) -> None:
    make_credential(house.tenant, adapter_id=ADAPTER, secret=SECRET)

    def refuses(call: Call) -> None:
        while call.read_request():
            call.send(http_answer(b"", status="401 Unauthorized"))

    with upstream(refuses) as elsewhere, pytest.raises(ContextOSError) as refused:
        discovered(house, endpoint_ref=f"{elsewhere.url}/mcp")
    assert refused.value.code == "discovery.credential_withheld"
    assert not was_shown(elsewhere, SECRET)


def test_a_token_that_was_revoked_there_is_fetched_anew_once(db: None) -> None:
    def forgetful(call: Call) -> None:
        if call.upstream.connections == 1:
            call.read_request()
            call.send(http_answer(b"", status="401 Unauthorized"))
        LISTS(call)

    with serving(AuthorizationServer()) as server, upstream(forgetful) as far:
        house = House()
        if not house.tenant.environments.filter(name="development").exists():
            add_environment(tenant_id=house.tenant_id, name="development", actor=SYSTEM)
        house.published(probe(f"{far.url}/mcp", auth=AUTH))
        make_credential(house.tenant, "client_credentials", adapter_id=ADAPTER, **oauth(server))
        discovered(house)
        assert len(server.asked) == 2
