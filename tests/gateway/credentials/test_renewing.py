"""Tokens renewed under way: after a 401 of a real MCP server, and by one of many at a time."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from gateway.consents.kept import opened_tokens
from gateway.consents.tokens import Wanted, consented_token
from gateway.credentials.keeping import seal_text, tokens_context
from gateway.models import Consent
from tests.factories import make_tenant
from tests.gateway.connectors.mcp.governed import call, last_record, probe_world
from tests.gateway.connectors.mcp.hostile import methods_seen, rpc, speaking
from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import RESOURCE, make_ask, make_consent, make_credential, oauth
from tests.net.upstreams import Call, http_answer, upstream

pytestmark = pytest.mark.proves("C7")
AUTH = {
    "type": "oauth2",
    "resource": RESOURCE,
    "token_audience": "probe",
    "initial_scopes": ["read"],
    "allow_token_passthrough": False,
}


@pytest.mark.django_db
@pytest.mark.proves("A1")
def test_an_mcp_server_that_forgot_our_token_is_shown_a_new_one_and_asked_once_more(
    server: AuthorizationServer,
) -> None:
    asked: list[bytes] = []

    def forgetful(connected: Call, message: dict[str, Any]) -> None:
        asked.append(connected.upstream.requests[-1])
        if len(asked) == 1:
            connected.send(http_answer(b"", status="401 Unauthorized"))
        else:
            connected.send(rpc(message, {"content": [], "structuredContent": {"echo": "hi"}}))

    with upstream(speaking(forgetful)) as far:
        world = probe_world(f"{far.url}/mcp", auth=AUTH)
        make_credential(
            world.house.tenant, "client_credentials", adapter_id="adp_probe", **oauth(server)
        )
        answer = call(world)
    assert answer["status"] == "ok", answer
    assert methods_seen(far.requests).count("tools/call") == 2
    shown = [_shown(request) for request in asked]
    assert len(set(shown)) == 2
    assert set(shown) <= server.tokens.keys()
    assert last_record(world, answer)["credentials"]["scopes_granted"] == ["read"]
    assert answer["attempts"] == 1
    left = f"{far.requests} {server.asked} {server.headers}"  # of the caller's own token nothing
    assert not any(part in left for part in world.agent_token.split(".")[1:])


def _shown(request: bytes) -> str:
    head = request.partition(b"\r\n\r\n")[0].decode()
    lines = (line.partition(": ") for line in head.splitlines())
    return next(v for n, _, v in lines if n.lower() == "authorization").removeprefix("Bearer ")


@pytest.mark.django_db(transaction=True)
def test_of_many_processes_one_renews_and_the_refresh_token_is_used_once(
    server: AuthorizationServer,
) -> None:
    tenant = make_tenant()
    consent = make_consent(tenant, "Ledger")
    row = consent.credential
    row.token_endpoint = f"{server.address}/token"
    row.client_id = "contextos client"
    row.save()
    server.refresh_tokens = {"rt_first": "read write"}
    server.slow = 0.2
    _keep(consent, {"access_token": "at_old", "refresh_token": "rt_first"})
    wanted = Wanted(row=row, ask=make_ask(tenant), aim={}, refused="at_old", patience=5)

    def renew(_: int) -> str:
        try:
            return consented_token(wanted).value  # without the cache: as in another process
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        tokens = set(pool.map(renew, range(6)))
    assert len(tokens) == 1
    assert len(server.asked) == 1
    consent.refresh_from_db()
    assert (consent.token_version, consent.renewing_until) == (2, None)


@pytest.mark.django_db(transaction=True)
def test_whoever_took_too_long_to_renew_does_not_overwrite_what_another_kept(
    server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    consent = make_consent(make_tenant(), "Ledger")
    row = consent.credential
    row.token_endpoint, row.client_id = f"{server.address}/token", "contextos client"
    row.save()
    _keep(consent, {"access_token": "at_old", "refresh_token": "rt_first"})
    server.refresh_tokens = {"rt_first": "read"}
    issue = server.token

    def overtaken(*asked: Any) -> Any:
        """While this answer is under way, another process renews and keeps."""
        newer = Consent.objects.get()
        newer.token_version += 1
        _keep(newer, {"access_token": "at_newer", "refresh_token": "rt_newer"})
        connection.close()
        return issue(*asked)

    monkeypatch.setattr(server, "token", overtaken)
    wanted = Wanted(row=row, ask=make_ask(row.tenant), aim={}, refused="at_old", patience=5)
    assert consented_token(wanted).value in server.tokens
    kept = opened_tokens(Consent.objects.get())
    assert kept["refresh_token"] == "rt_newer"


def _keep(consent: Consent, tokens: dict[str, Any]) -> None:
    kept = {"scopes": ["read"], "ends_at": "2030-01-01T00:00:00Z", **tokens}
    consent.sealed_tokens = seal_text(json.dumps(kept), tokens_context(consent))
    consent.save()
