"""Tokens of outside issuers: keys pasted or fetched, subjects mapped, tenants never confused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from contextos.identity import services
from contextos.identity.models import Tenant, TrustedIssuer
from contextos.identity.outside_keys import MAX_JWKS_BYTES, forget_fetched_keys
from contextos.identity.principals import Principal
from contextos.identity.token_verification import verify_bearer
from tests.factories import SYSTEM, grant, make_agent, make_issuer, make_member, make_tenant
from tests.identity.forged import OutsideIssuer, claims, hs256, unsigned
from tests.identity.jwks_server import JwksServer, serving

pytestmark = [pytest.mark.proves("C6"), pytest.mark.django_db]

ISSUER = "https://id.example.test"
AUDIENCE = "contextos-acme"


@pytest.fixture(scope="module")
def provider() -> OutsideIssuer:
    return OutsideIssuer()


@pytest.fixture
def server(provider: OutsideIssuer) -> Iterator[JwksServer]:
    with serving() as running:
        running.document = provider.jwks()
        yield running
    forget_fetched_keys()


def trust(tenant: Tenant, provider: OutsideIssuer, **fields: Any) -> TrustedIssuer:
    values: dict[str, Any] = {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "algorithms": ["EdDSA", "ES256", "RS256"],
        "jwks_url": "",
        "jwks": provider.jwks(),
    }
    return make_issuer(tenant, **(values | fields))


def honest(provider: OutsideIssuer, algorithm: str = "EdDSA", **changes: Any) -> str:
    return provider.sign(algorithm, claims(**({"iss": ISSUER, "aud": AUDIENCE} | changes)))


def refused(token: str) -> str:
    with pytest.raises(ContextOSError) as caught:
        verify_bearer(token)
    return caught.value.code


# --- subjects -----------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ["EdDSA", "ES256", "RS256"])
def test_a_token_of_each_algorithm_is_accepted(
    acme: Tenant, provider: OutsideIssuer, algorithm: str
) -> None:
    make_agent(acme, "refunds", max_mode="network")
    trust(acme, provider)
    principal = verify_bearer(honest(provider, algorithm))
    assert (principal.id, principal.tenant_id, principal.issuer) == ("refunds", acme.pk, ISSUER)
    assert principal.max_mode is ApprovalMode.NETWORK


@pytest.mark.parametrize("subject", ["refunds", "urn:acme:refunds", "spiffe://acme/refunds"])
def test_an_agent_is_found_by_id_urn_or_workload_identity(
    acme: Tenant, provider: OutsideIssuer, subject: str
) -> None:
    make_agent(
        acme, "refunds", agent_urn="urn:acme:refunds", workload_identity="spiffe://acme/refunds"
    )
    trust(acme, provider)
    assert verify_bearer(honest(provider, sub=subject)).id == "refunds"


def test_a_subject_that_names_two_agents_is_refused(acme: Tenant, provider: OutsideIssuer) -> None:
    make_agent(acme, "refunds")
    make_agent(acme, "impostor", agent_urn="refunds")
    trust(acme, provider)
    assert refused(honest(provider)) == "auth.subject_inactive"


def test_a_person_is_found_by_user_id(acme: Tenant, provider: OutsideIssuer) -> None:
    user = make_member(acme, "finance_approver")
    trust(acme, provider, subject_kind="user")
    principal = verify_bearer(honest(provider, sub=user.user_id))
    assert (principal.kind, principal.roles) == ("user", ("finance_approver",))
    assert principal.lent  # whoever entered the issuer could have signed it


def test_an_issuer_for_agents_does_not_speak_for_people(
    acme: Tenant, provider: OutsideIssuer
) -> None:
    user = make_member(acme, "platform_admin")
    trust(acme, provider, subject_kind="agent")
    assert refused(honest(provider, sub=user.user_id)) == "auth.subject_inactive"


def test_claims_narrow_and_never_widen(acme: Tenant, provider: OutsideIssuer) -> None:
    make_agent(acme, "refunds", max_mode="network")
    trust(acme, provider)
    wide = verify_bearer(honest(provider, max_mode="destructive"))
    narrow = verify_bearer(honest(provider, max_mode="read_only", scopes=["orders.lookup"]))
    assert wide.max_mode is ApprovalMode.NETWORK
    assert narrow.max_mode is ApprovalMode.READ_ONLY
    assert narrow.scopes == frozenset({"orders.lookup"})


# --- tenants ------------------------------------------------------------------------------------
def test_an_issuer_is_trusted_by_the_tenant_that_trusts_it_only(
    acme: Tenant, globex: Tenant, provider: OutsideIssuer
) -> None:
    make_agent(globex, "refunds")
    trust(acme, provider)
    assert refused(honest(provider)) == "auth.subject_inactive"
    assert refused(honest(provider, tenant_id=globex.pk)) == "auth.wrong_issuer"


def test_one_issuer_of_two_tenants_needs_a_tenant_claim(
    acme: Tenant, globex: Tenant, provider: OutsideIssuer
) -> None:
    for tenant in (acme, globex):
        make_agent(tenant, "refunds")
        trust(tenant, provider)
    assert refused(honest(provider)) == "auth.tenant_needed"
    assert verify_bearer(honest(provider, tenant_id=globex.pk)).tenant_id == globex.pk


def test_another_tenants_keys_for_the_same_issuer_name_do_not_count_here(
    acme: Tenant, globex: Tenant, provider: OutsideIssuer
) -> None:
    make_agent(acme, "refunds")
    trust(acme, provider)
    evil = OutsideIssuer()
    make_agent(globex, "refunds")
    trust(globex, evil)
    mine: Principal = verify_bearer(honest(evil))
    assert mine.tenant_id == globex.pk
    assert refused(honest(evil, tenant_id=acme.pk)) == "auth.unknown_key"
    assert refused(honest(evil, "ES256", tenant_id=acme.pk)) == "auth.bad_signature"


def test_an_issuer_that_very_many_trust_must_name_the_tenant(
    acme: Tenant, provider: OutsideIssuer
) -> None:
    for number in range(21):
        trust(make_tenant(f"tenant_no_{number}"), provider)
    make_agent(acme, "refunds")
    trust(acme, provider)
    assert refused(honest(provider)) == "auth.tenant_needed"
    assert verify_bearer(honest(provider, tenant_id=acme.pk)).id == "refunds"


# --- refusals -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"aud": "contextos"}, "auth.wrong_audience"),
        ({"iss": "https://unknown.example.test"}, "auth.wrong_issuer"),
        ({"exp": 1_000}, "auth.expired"),
        ({"nbf": 9_999_999_999}, "auth.not_yet_valid"),
        ({"exp": None}, "auth.claim_missing"),
        ({"jti": None}, "auth.claim_missing"),
        ({"sub": "nobody_we_know"}, "auth.subject_inactive"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_in_order_is_refused(
    acme: Tenant, provider: OutsideIssuer, changes: dict[str, Any], code: str
) -> None:
    make_agent(acme, "refunds")
    trust(acme, provider)
    assert refused(honest(provider, **changes)) == code


def test_algorithms_are_those_agreed_for_the_issuer(acme: Tenant, provider: OutsideIssuer) -> None:
    make_agent(acme, "refunds")
    trust(acme, provider, algorithms=["ES256"])
    assert verify_bearer(honest(provider, "ES256")).id == "refunds"
    assert refused(honest(provider, "RS256")) == "auth.algorithm"
    given = claims(iss=ISSUER, aud=AUDIENCE)
    assert refused(unsigned(given, kid="ec")) == "auth.algorithm"
    assert refused(hs256(b"public key text", given, kid="ec")) == "auth.algorithm"


def test_a_switched_off_issuer_tenant_or_agent_is_refused(
    acme: Tenant, provider: OutsideIssuer
) -> None:
    agent, row = make_agent(acme, "refunds"), trust(acme, provider)
    token = honest(provider)
    services.set_issuer_active(issuer_pk=row.pk, active=False, actor=SYSTEM)
    assert refused(token) == "auth.wrong_issuer"
    services.set_issuer_active(issuer_pk=row.pk, active=True, actor=SYSTEM)
    services.set_agent_active(agent_pk=agent.pk, active=False, actor=SYSTEM)
    assert refused(token) == "auth.subject_inactive"
    services.set_agent_active(agent_pk=agent.pk, active=True, actor=SYSTEM)
    assert verify_bearer(token).id == "refunds"
    services.set_tenant_active(tenant_id=acme.pk, active=False, actor=SYSTEM)
    assert refused(token) == "auth.wrong_issuer"


# --- fetched keys -------------------------------------------------------------------------------
def test_keys_are_fetched_once_for_many_tokens(
    acme: Tenant, provider: OutsideIssuer, server: JwksServer
) -> None:
    make_agent(acme, "refunds")
    trust(acme, provider, jwks=None, jwks_url=server.url)
    for algorithm in ("EdDSA", "ES256", "RS256", "EdDSA"):
        assert verify_bearer(honest(provider, algorithm)).id == "refunds"
    assert server.requests == 1


def test_unknown_kids_do_not_make_us_hammer_the_issuer(
    acme: Tenant, provider: OutsideIssuer, server: JwksServer
) -> None:
    make_agent(acme, "refunds")
    trust(acme, provider, jwks=None, jwks_url=server.url)
    for _ in range(5):
        assert refused(honest(OutsideIssuer())) == "auth.unknown_key"
    assert server.requests == 1


@pytest.mark.parametrize(
    ("status", "raw", "headers"),
    [
        (500, b"oops", {}),
        (200, b"not json", {}),
        (200, b'{"keys": []}', {}),
        (200, b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', {}),
        (200, b"{" + b" " * MAX_JWKS_BYTES + b"}", {}),
        (302, b"", {"Location": "http://169.254.169.254/latest/meta-data"}),
    ],
    ids=["error", "no json", "no keys", "a secret key", "too large", "redirect"],
)
def test_an_issuer_without_usable_keys_is_refused_and_remembered(
    acme: Tenant,
    provider: OutsideIssuer,
    server: JwksServer,
    status: int,
    raw: bytes,
    headers: dict[str, str],
) -> None:
    make_agent(acme, "refunds")
    trust(acme, provider, jwks=None, jwks_url=server.url)
    server.status, server.raw, server.headers = status, raw, headers
    for _ in range(3):
        assert refused(honest(provider)) == "auth.keys_unavailable"
    assert server.requests == 1


def test_a_private_address_is_not_fetched_in_production(
    acme: Tenant, provider: OutsideIssuer, server: JwksServer, settings: Any
) -> None:
    settings.CONTEXTOS_ENV = "production"
    make_agent(acme, "refunds")
    trust(acme, provider, jwks=None, jwks_url=server.url)
    assert refused(honest(provider)) == "auth.keys_unavailable"
    assert server.requests == 0


# --- trusting -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"issuer": "contextos"}, "issuer.reserved"),
        ({"algorithms": []}, "issuer.algorithms_invalid"),
        ({"algorithms": ["HS256"]}, "issuer.algorithms_invalid"),
        ({"algorithms": ["none"]}, "issuer.algorithms_invalid"),
        ({"jwks_url": "", "jwks": None}, "issuer.keys_invalid"),
        ({"jwks_url": "", "jwks": {"keys": []}}, "issuer.keys_invalid"),
        ({"jwks_url": "", "jwks": {"keys": "x"}}, "issuer.keys_invalid"),
        ({"jwks_url": "", "jwks": {"keys": [{"kty": "oct", "k": "abc"}]}}, "issuer.keys_invalid"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_an_issuer_that_could_not_be_checked_is_not_trusted(
    acme: Tenant, fields: dict[str, Any], code: str
) -> None:
    with pytest.raises(ContextOSError) as caught:
        make_issuer(acme, **fields)
    assert caught.value.code == code
    assert not TrustedIssuer.objects.exists()


def test_a_pasted_private_key_is_refused_and_not_repeated(acme: Tenant) -> None:
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": "abc", "d": "the-private-half"}
    with pytest.raises(ContextOSError) as caught:
        make_issuer(acme, jwks_url="", jwks={"keys": [jwk]})
    assert caught.value.code == "issuer.keys_invalid"
    assert "the-private-half" not in str(caught.value)


def test_an_address_and_pasted_keys_together_are_refused(
    acme: Tenant, provider: OutsideIssuer
) -> None:
    with pytest.raises(ContextOSError):
        trust(acme, provider, jwks_url="https://id.example.test/jwks")


def test_a_person_of_two_tenants_is_found_in_the_trusting_one(
    acme: Tenant, globex: Tenant, provider: OutsideIssuer
) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "platform_admin")
    trust(acme, provider, subject_kind="user")
    assert verify_bearer(honest(provider, sub=user.user_id)).roles == ("operator",)
