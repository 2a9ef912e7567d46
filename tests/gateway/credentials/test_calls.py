"""Governed calls that leave the house: what they show, what is recorded, what never leaves."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contextos.core.errors import coded_error
from contextos.core.signing import KeyPurpose
from contextos.core.tokens import key_set, verify_token
from contextos.identity.keyring import key_store
from gateway.attempts import from_row
from gateway.connectors.base import Invocation
from gateway.models import ToolCall
from gateway.outside import asking
from gateway.worker import work_on
from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import AUDIENCE, make_credential, oauth
from tests.gateway.credentials.world import LedgerWorld

pytestmark = pytest.mark.django_db


@pytest.mark.proves("C7")
def test_a_read_shows_the_initial_scope_and_a_write_one_more(
    world: LedgerWorld, server: AuthorizationServer
) -> None:
    make_credential(world.tenant, "token_exchange", **oauth(server))
    read = world.call()
    assert (read.status_code, read.json()["status"]) == (200, "ok"), read.content
    written = world.call("ledger.write")
    assert work_on(written.json()["tool_call_id"])
    assert world.state_of(written)["status"] == "ok"
    assert [form["scope"] for form in server.asked] == ["read", "read write"]
    shown = world.rows(written)[-1]["credentials"]
    assert shown["scopes_requested"] == shown["scopes_granted"] == ["read", "write"]
    assert shown["audience"] == AUDIENCE
    assert shown["ref"].startswith("cred_")


@pytest.mark.proves("C7")
@pytest.mark.parametrize("kind", ["token_exchange", "client_credentials", "bearer"])
def test_nothing_of_a_callers_token_leaves(
    world: LedgerWorld, server: AuthorizationServer, kind: str
) -> None:
    server.tokens["fixed"] = {}
    secret = {"secret": "fixed"} if kind == "bearer" else oauth(server)
    make_credential(world.tenant, kind, **secret)
    assert world.call().json()["status"] == "ok"
    left = str([server.asked, server.headers, world.ledger.seen, world.ledger.bodies])
    for token in (world.gateway.agent_token, world.delegation):
        assert not any(part in left for part in token.split(".")[1:])


@pytest.mark.proves("C7")
def test_a_token_that_was_revoked_there_is_fetched_anew_once(
    world: LedgerWorld, server: AuthorizationServer
) -> None:
    make_credential(world.tenant, "client_credentials", **oauth(server))
    world.call()
    server.tokens.clear()
    again = world.call(args={"entry": "e2"})
    assert again.json()["status"] == "ok"
    assert (len(server.asked), len(world.ledger.seen)) == (2, 3)


@pytest.mark.proves("C7")
def test_a_far_side_that_goes_on_refusing_ends_the_call_and_changes_nothing(
    world: LedgerWorld, server: AuthorizationServer
) -> None:
    make_credential(world.tenant, "bearer", secret="unknown")
    written = world.call("ledger.write")
    work_on(written.json()["tool_call_id"])
    ended = world.state_of(written)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "credential.refused")
    assert len(world.ledger.seen) == 1
    assert world.ledger.entries == []


@pytest.mark.proves("C7", "C13")
def test_a_write_whose_token_could_not_be_had_has_failed_and_is_not_unknown(
    world: LedgerWorld, server: AuthorizationServer
) -> None:
    make_credential(world.tenant, "client_credentials", **oauth(server))
    server.raw = (400, b'{"error": "invalid_scope"}')
    written = world.call("ledger.write")
    work_on(written.json()["tool_call_id"])
    ended = world.state_of(written)
    assert (ended["status"], ended["error"]["kind"]) == ("failed", "auth")
    assert ended["error"]["remediation"]
    assert world.ledger.seen == []


@pytest.mark.proves("C7")
def test_without_a_credential_nothing_is_called(world: LedgerWorld) -> None:
    answer = world.call()
    assert answer.json()["error"]["code"] == "credential.missing"
    assert world.ledger.seen == []


@pytest.mark.proves("C8")
def test_the_adapter_gets_our_signed_word_about_the_call(
    world: LedgerWorld, server: AuthorizationServer
) -> None:
    make_credential(world.tenant, "client_credentials", **oauth(server))
    answer = world.call()
    token = world.ledger.seen[0]["x-contextos-metadata"]
    keys = key_set(key_store().jwks(KeyPurpose.METADATA))
    claims = verify_token(
        token, keys=keys, issuer="contextos", audience="adp_ledger", typ="contextos-metadata+jwt"
    ).claims
    call = ToolCall.objects.get(pk=answer.json()["tool_call_id"])
    assert claims["tenant_id"] == world.tenant.pk
    assert (claims["sub"], claims["act"]) == (world.ada.user_id, {"sub": call.agent_id})
    assert [link["kind"] for link in claims["principal_chain"]] == ["user", "agent"]
    assert claims["scopes"] == ["read"]
    assert claims["policy_decision_id"] == answer.json()["policy_decision_id"]
    assert (claims["tool_call_id"], claims["decision_id"]) == (call.pk, call.decision_id)
    assert claims["exp"] - claims["iat"] == 60


@pytest.mark.proves("C7")
def test_a_function_pays_nothing_for_credentials(world: LedgerWorld) -> None:
    """No query on any of our tables: the quick path is as it was."""
    run = world.gateway.open_run()
    body = {
        "run_id": run["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_1001"},
    }
    with CaptureQueriesContext(connection) as queries:
        world.gateway.post("/api/v1/tool-calls", body)
    touched = [q["sql"] for q in queries if "credential" in q["sql"].split("WHERE")[0]]
    assert [sql for sql in touched if "gateway_adaptercredential" in sql] == []
    assert [sql for sql in touched if "gateway_consent" in sql] == []


@pytest.mark.proves("C7", "C14")
def test_a_poll_shows_a_credential_too_and_another_one_after_a_refusal(
    world: LedgerWorld, server: AuthorizationServer
) -> None:
    make_credential(world.tenant, "client_credentials", **oauth(server))
    answer = world.call()
    attempt = from_row(ToolCall.objects.select_related("run").get(pk=answer.json()["tool_call_id"]))
    shown: list[str] = []

    def poll(made: Invocation) -> str:
        assert made.credential is not None
        assert made.metadata_token
        shown.append(made.credential.headers["Authorization"])
        if len(shown) == 1:
            raise coded_error("credential.refused")
        return "working"

    assert asking(attempt, poll) == "working"
    assert len(set(shown)) == 2
