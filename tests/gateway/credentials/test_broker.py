"""Tokens from a real authorization server: asked for exactly, shared, renewed, and judged."""

from __future__ import annotations

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.signing import KeyPurpose
from contextos.core.tokens import key_set, verify_token
from contextos.identity.keyring import key_store
from contextos.identity.models import Tenant
from gateway.credentials.broker import credential_again, credential_for
from gateway.credentials.services import revoke_credential, rotate_credential
from gateway.credentials.tokens import TokenCache, TokenKey, fresh_until, token_cache
from tests.factories import SYSTEM, make_tenant
from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import AUDIENCE, RESOURCE, make_ask, make_credential, oauth
from tests.registry.house import House
from tests.registry.manifests import orders

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C7")]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def shown_token(credential: Any) -> str:
    return str(credential.headers["Authorization"]).removeprefix("Bearer ")


@pytest.mark.parametrize("how", ["client_secret_basic", "client_secret_post", "private_key_jwt"])
def test_a_client_token_is_asked_for_with_scopes_and_resource(
    tenant: Tenant, server: AuthorizationServer, how: str
) -> None:
    secret = "" if how == "private_key_jwt" else "s3cret"
    make_credential(tenant, "client_credentials", secret=secret, **oauth(server, client_auth=how))
    got = credential_for(make_ask(tenant))
    assert server.tokens[shown_token(got)]["scope"] == "read"
    assert server.asked[0]["resource"] == RESOURCE
    assert server.asked[0]["audience"] == AUDIENCE
    assert (got.scopes_requested, got.scopes_granted) == (("read",), ("read",))
    assert got.audience == AUDIENCE
    assert "at_" not in repr(got)


def test_an_exchange_names_the_person_as_subject_and_the_agent_as_actor(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    make_credential(tenant, "token_exchange", **oauth(server))
    got = credential_for(make_ask(tenant))
    issued = server.tokens[shown_token(got)]
    assert (issued["sub"], issued["act"]) == ("user_ada", "agent_refunds")
    assert got.ref.endswith("@1/agent_refunds/user_ada")
    other = credential_for(make_ask(tenant, user_id="user_bob"))
    assert server.tokens[shown_token(other)]["sub"] == "user_bob"


def test_tokens_are_shared_only_for_the_same_scopes(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    reading = [shown_token(credential_for(make_ask(tenant))) for _ in range(3)]
    writing = shown_token(credential_for(make_ask(tenant, scopes=("read", "write"))))
    assert len(set(reading)) == 1
    assert writing not in reading
    assert len(server.asked) == 2


def test_a_warm_token_costs_one_query_and_no_request(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    credential_for(make_ask(tenant))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        credential_for(make_ask(tenant))
    assert len(queries) <= 1  # fixed queries on PostgreSQL pass Django's count by
    assert len(server.asked) == 1


def test_the_narrowest_credential_wins() -> None:
    house = House()
    house.published(orders())
    place = {"adapter_id": "adp_orders"}
    make_credential(house.tenant, secret="whole", **place)
    make_credential(house.tenant, secret="narrow", capability_id="orders.lookup", **place)
    ask = make_ask(house.tenant, capability_id="orders.lookup", **place)
    assert shown_token(credential_for(ask)) == "narrow"
    other = make_ask(house.tenant, capability_id="orders.other", **place)
    assert shown_token(credential_for(other)) == "whole"


def test_nothing_of_another_tenant_or_environment_is_used(tenant: Tenant) -> None:
    make_credential(make_tenant(), "bearer")
    for ask in (make_ask(tenant), make_ask(tenant, environment="production")):
        with pytest.raises(ContextOSError) as refused:
            credential_for(ask)
        assert refused.value.code == "credential.missing"


def test_a_kind_the_manifest_does_not_ask_for_is_refused(tenant: Tenant) -> None:
    make_credential(tenant, "api_key", header_name="X-API-Key")
    with pytest.raises(ContextOSError) as refused:
        credential_for(make_ask(tenant))
    assert refused.value.code == "credential.kind_mismatch"


def test_a_revoked_credential_is_gone_at_once(tenant: Tenant, server: AuthorizationServer) -> None:
    row = make_credential(tenant, "client_credentials", **oauth(server))
    credential_for(make_ask(tenant))
    revoke_credential(credential_id=row.pk, actor=SYSTEM, reason="leaked")
    row.refresh_from_db()
    assert row.sealed_secret is None
    with pytest.raises(ContextOSError, match=r"credential\.missing"):
        credential_for(make_ask(tenant))


def test_a_token_of_ours_says_who_acts_for_whom_and_verifies_by_its_kid(tenant: Tenant) -> None:
    make_credential(tenant, "workload_jwt", secret="")
    got = credential_for(make_ask(tenant, auth_type="workload_identity"))
    keys = key_set(key_store().jwks(KeyPurpose.WORKLOAD))
    claims = verify_token(shown_token(got), keys=keys, issuer="contextos", audience=AUDIENCE).claims
    assert (claims["sub"], claims["act"]) == ("user_ada", {"sub": "agent_refunds"})
    assert claims["scope"] == "read"
    assert claims["exp"] - claims["iat"] == 300


# --- rotation ------------------------------------------------------------------------------------
def test_after_a_rotation_the_server_may_lag_behind_until_the_overlap_ends(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    row = make_credential(tenant, "client_credentials", **oauth(server))
    rotate_credential(credential_id=row.pk, secret="n3w", actor=SYSTEM, overlap=timedelta(hours=1))
    assert credential_for(make_ask(tenant)).ref == f"{row.pk}@2"
    row.refresh_from_db()
    assert row.previous_used_at is not None
    server.secrets = {"n3w"}
    token_cache().clear()
    assert len(server.asked) == 2
    credential_for(make_ask(tenant))
    assert len(server.asked) == 3
    server.secrets, row.previous_until = {"s3cret"}, utcnow() - timedelta(seconds=1)
    row.save()
    token_cache().clear()
    with pytest.raises(ContextOSError, match=r"credential\.client_refused"):
        credential_for(make_ask(tenant))


def test_the_secret_before_is_shown_only_to_a_server_that_refuses_the_new_one(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    row = make_credential(tenant, "client_credentials", **oauth(server))
    rotate_credential(credential_id=row.pk, secret="n3w", actor=SYSTEM, overlap=timedelta(hours=1))
    server.raw = (503, b"down")
    with pytest.raises(ContextOSError, match=r"credential\.endpoint_unreachable"):
        credential_for(make_ask(tenant))
    assert len(server.asked) == 1


def test_a_refused_static_secret_falls_back_to_the_one_before_and_no_further(
    tenant: Tenant,
) -> None:
    row = make_credential(tenant, "bearer", secret="old")
    rotate_credential(credential_id=row.pk, secret="new", actor=SYSTEM, overlap=timedelta(hours=1))
    ask = make_ask(tenant)
    first = credential_for(ask)
    again = credential_again(ask, first)
    assert again is not None
    assert (shown_token(first), shown_token(again)) == ("new", "old")
    assert credential_again(ask, again) is None


def test_a_refused_token_is_fetched_anew_once(tenant: Tenant, server: AuthorizationServer) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    ask = make_ask(tenant)
    first = credential_for(ask)
    again = credential_again(ask, first)
    assert again is not None
    assert shown_token(again) != shown_token(first)
    # Somebody who still holds the old one does not throw the new one away.
    assert shown_token(credential_again(ask, first) or first) == shown_token(again)
    assert len(server.asked) == 2


# --- bad answers ---------------------------------------------------------------------------------
TOKEN_TYPE = "urn:ietf:params:oauth:token-type"


def jwt_saying(**claims: Any) -> str:
    part = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"e30.{part}.c2ln"


BAD_ANSWERS: list[tuple[str, dict[str, Any], str, bool]] = [
    ("other type", {"token_type": "DPoP"}, "credential.token_type", False),
    ("no type", {"token_type": None}, "credential.token_type", False),
    ("no token", {"access_token": None}, "credential.answer_malformed", False),
    ("a header in it", {"access_token": "a\r\nX: y"}, "credential.answer_malformed", False),
    ("narrower", {"scope": "openid"}, "credential.scope_narrowed", False),
    ("no end", {"expires_in": None}, "credential.lifetime_unknown", False),
    ("true as end", {"expires_in": True}, "credential.lifetime_unknown", False),
    ("ended", {"expires_in": 0}, "credential.token_expired", False),
    ("for others", {"access_token": jwt_saying(aud="mail")}, "credential.wrong_audience", False),
    ("for nobody", {"access_token": jwt_saying(aud=[])}, "credential.wrong_audience", False),
    ("for a number", {"access_token": jwt_saying(aud=5)}, "credential.wrong_audience", False),
    ("for things", {"access_token": jwt_saying(aud=[{}])}, "credential.wrong_audience", False),
    ("id token", {"issued_token_type": f"{TOKEN_TYPE}:id_token"}, "credential.token_type", False),
    ("odd type", {"issued_token_type": ["x"]}, "credential.token_type", False),
    ("no count", {"expires_in": "9" * 5000}, "credential.lifetime_unknown", False),
]


@pytest.mark.parametrize(
    ("answer", "code"),
    [(a, c) for _, a, c, _ in BAD_ANSWERS],
    ids=[name for name, *_ in BAD_ANSWERS],
)
def test_a_bad_token_is_refused_with_its_own_code(
    tenant: Tenant, server: AuthorizationServer, answer: dict[str, Any], code: str
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    server.answers = answer
    with pytest.raises(ContextOSError) as refused:
        credential_for(make_ask(tenant))
    assert (refused.value.code, refused.value.retryable) == (code, False)
    assert refused.value.remediation
    assert len(token_cache()) == 0


@pytest.mark.parametrize(
    ("raw", "code", "retryable"),
    [
        ((200, b"<html>"), "credential.answer_malformed", False),
        (
            (200, b'{"access_token": "a", "access_token": "b"}'),
            "credential.answer_malformed",
            False,
        ),
        ((200, b"x" * 300_000), "credential.answer_malformed", False),
        ((503, b"down"), "credential.endpoint_unreachable", True),
        ((429, b"{}"), "credential.endpoint_unreachable", True),
        ((401, b"no"), "credential.client_refused", False),
        ((400, b'{"error": "invalid_scope"}'), "credential.scope_refused", False),
        ((400, b'{"error": "invalid_target"}'), "credential.wrong_audience", False),
        ((400, b'{"error": "<script>"}'), "credential.answer_malformed", False),
    ],
)
def test_a_bad_answer_is_refused_with_its_own_code(
    tenant: Tenant,
    server: AuthorizationServer,
    raw: tuple[int, bytes],
    code: str,
    retryable: bool,
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    server.raw = raw
    with pytest.raises(ContextOSError) as refused:
        credential_for(make_ask(tenant))
    assert (refused.value.code, refused.value.retryable) == (code, retryable)
    assert "script" not in str(refused.value.data)


def test_a_token_endpoint_that_sends_us_elsewhere_is_not_followed(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    server.raw, server.location = (307, b""), "http://169.254.169.254/latest/meta-data/"
    with pytest.raises(ContextOSError) as refused:
        credential_for(make_ask(tenant))
    assert (refused.value.code, refused.value.retryable) == ("credential.endpoint_forbidden", False)
    assert refused.value.data["cause"] == "egress.redirect_refused"
    assert len(server.asked) == 1


@pytest.mark.parametrize("says", [10**398, 1e300, {"exp": 10**398, "iat": 0.5}])
def test_a_lifetime_that_no_clock_can_hold_is_cut_short(
    tenant: Tenant, server: AuthorizationServer, says: Any
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    server.answers = {"expires_in": says}
    if isinstance(says, dict):
        server.answers = {"expires_in": None, "access_token": jwt_saying(aud=AUDIENCE, **says)}
    credential_for(make_ask(tenant))
    credential_for(make_ask(tenant))
    assert len(server.asked) == 1


def test_of_a_server_that_grants_more_the_record_tells_what_was_granted(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    server.answers = {"scope": "write read"}
    got = credential_for(make_ask(tenant)).as_record()
    assert (got["scopes_requested"], got["scopes_granted"]) == (["read"], ["read", "write"])


def test_a_token_endpoint_that_is_down_is_said_to_be(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    make_credential(
        tenant, "client_credentials", **oauth(server, token_endpoint="http://127.0.0.1:9/token")
    )
    with pytest.raises(ContextOSError) as refused:
        credential_for(make_ask(tenant))
    assert (refused.value.code, refused.value.retryable) == (
        "credential.endpoint_unreachable",
        True,
    )


def test_a_token_without_expires_in_may_say_itself_how_long_it_lasts(
    tenant: Tenant, server: AuthorizationServer
) -> None:
    make_credential(tenant, "client_credentials", **oauth(server))
    skewed = jwt_saying(iat=100, exp=400, aud=[AUDIENCE])  # of a server whose clock is far off
    server.answers = {"access_token": skewed, "expires_in": None}
    credential_for(make_ask(tenant))
    credential_for(make_ask(tenant))
    assert len(server.asked) == 1


# --- the cache -----------------------------------------------------------------------------------
def test_a_token_is_given_up_shortly_before_it_ends() -> None:
    assert fresh_until(300, asked_at=1000) == 1270
    assert fresh_until(20, asked_at=1000) == 1018
    assert fresh_until(86_400, asked_at=1000) == 1000 + 3600 - 30


@pytest.mark.django_db(transaction=True)
def test_however_many_wait_one_asks_and_all_share_its_failure() -> None:
    cache, asked, go = TokenCache(), [], threading.Event()
    key = TokenKey("cred", 1, None, None, (), ())

    def fetch() -> Any:
        asked.append(1)
        go.wait(2)
        raise RuntimeError("down")

    def get() -> str:
        try:
            cache.get(key, fetch, patience=2)
        except RuntimeError as fault:
            return str(fault)
        return "?"

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(get) for _ in range(8)]
        while not asked:
            pass
        threading.Timer(0.1, go.set).start()
        assert {future.result() for future in waiting} == {"down"}
    assert len(asked) == 1
