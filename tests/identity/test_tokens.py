"""Our own tokens: what they carry, what makes them useless, and what is never accepted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError, transaction

from audit.models import AuditEvent
from contextos.core import base64url, strict_json
from contextos.core.errors import ContextOSError, http_status
from contextos.core.modes import ApprovalMode
from contextos.core.signing import Ed25519Signer, KeyPurpose
from contextos.identity import services
from contextos.identity.keyring import forget_cached_keys, key_store, token_signer
from contextos.identity.models import Agent, IssuedToken, Membership, Tenant
from contextos.identity.token_verification import verify_bearer
from tests.factories import (
    SYSTEM,
    grant,
    make_agent,
    make_agent_token,
    make_member,
    make_user,
    make_user_token,
)
from tests.identity.forged import eddsa, hs256, unsigned

pytestmark = pytest.mark.proves("C6")


@pytest.fixture(autouse=True)
def own_keys(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.KEYS_DIR = tmp_path / "keys"
    yield
    forget_cached_keys()


@pytest.fixture
def agent(acme: Tenant) -> Agent:
    return make_agent(acme, "refunds", max_mode="delegated")


def content(token: str) -> dict[str, Any]:
    return dict(strict_json.loads_object(base64url.decode(token.split(".")[1])))


def refused(token: str) -> str:
    with pytest.raises(ContextOSError) as caught:
        verify_bearer(token)
    assert http_status(caught.value) == 401
    assert token not in str(caught.value)
    return caught.value.code


# --- issuing ------------------------------------------------------------------------------------
def test_a_token_carries_the_agreed_claims(agent: Agent) -> None:
    grant_ = make_agent_token(agent, scopes=["payments.issue_refund"], max_mode="network")
    carried = content(grant_.token)
    assert carried == {
        "iss": "contextos",
        "aud": "contextos",
        "sub": "refunds",
        "jti": grant_.row.token_id,
        "iat": carried["iat"],
        "nbf": carried["iat"],
        "exp": carried["iat"] + 3600,
        "tenant_id": agent.tenant_id,
        "kind": "agent",
        "max_mode": "network",
        "scopes": ["payments.issue_refund"],
    }
    assert grant_.row.expires_at == datetime.fromtimestamp(carried["exp"], UTC)


def test_without_scopes_the_claim_is_absent(agent: Agent) -> None:
    assert "scopes" not in content(make_agent_token(agent).token)


def test_the_token_is_stored_nowhere(agent: Agent) -> None:
    token = make_agent_token(agent).token
    row = IssuedToken.objects.values().get()
    signature = token.rsplit(".", 1)[1]
    assert signature not in str(row)
    assert not AuditEvent.objects.filter(text__contains=signature).exists()
    assert signature not in repr(make_agent_token(agent))


@pytest.mark.parametrize("lifetime", [timedelta(0), timedelta(days=30, seconds=1), -timedelta(1)])
def test_a_lifetime_outside_the_bounds_is_refused(agent: Agent, lifetime: timedelta) -> None:
    with pytest.raises(ContextOSError) as caught:
        make_agent_token(agent, lifetime=lifetime)
    assert caught.value.code == "token.lifetime_invalid"


@pytest.mark.parametrize("scopes", [["*"], ["payments.*"], ["payments"], [""], ["a.b"] * 201])
def test_scopes_are_capability_ids_without_wildcards(agent: Agent, scopes: list[str]) -> None:
    with pytest.raises(ContextOSError) as caught:
        make_agent_token(agent, scopes=scopes)
    assert caught.value.code == "token.scopes_invalid"


def test_a_token_can_not_exceed_its_agents_mode(agent: Agent) -> None:
    with pytest.raises(ContextOSError) as caught:
        make_agent_token(agent, max_mode="destructive")
    assert caught.value.code == "token.mode_above_agent"


def test_a_subject_that_may_not_act_gets_no_token(acme: Tenant, agent: Agent) -> None:
    services.set_agent_active(agent_pk=agent.pk, active=False, actor=SYSTEM)
    with pytest.raises(ContextOSError) as caught:
        make_agent_token(agent)
    assert caught.value.code == "auth.subject_inactive"
    with pytest.raises(ContextOSError) as caught:
        make_user_token(make_user(), acme)
    assert caught.value.code == "auth.subject_inactive"


def test_an_agent_of_another_tenant_is_not_there(agent: Agent, globex: Tenant) -> None:
    with pytest.raises(ContextOSError) as caught:
        services.issue_agent_token(tenant_id=globex.pk, agent_id=agent.agent_id, actor=SYSTEM)
    assert caught.value.code == "request.not_found"


# --- verifying ----------------------------------------------------------------------------------
def test_an_agents_token_becomes_its_principal(agent: Agent) -> None:
    made = make_agent_token(agent, scopes=["payments.issue_refund"])
    principal = verify_bearer(made.token)
    assert (principal.kind, principal.id, principal.tenant_id) == ("agent", "refunds", "acme_prod")
    assert (principal.role, principal.max_mode) == ("support_agent", ApprovalMode.DELEGATED)
    assert principal.token_id == made.row.token_id
    assert principal.auth_ref.startswith("claim_hash:sha256:")
    assert principal.owner_id == agent.owner.user_id
    assert principal.may_use("payments.issue_refund")
    assert not principal.may_use("payments.lookup_transaction")
    assert principal.as_actor().id == "refunds"


def test_a_persons_token_carries_their_roles(acme: Tenant) -> None:
    user = make_member(acme, "operator", "platform_admin")
    principal = verify_bearer(make_user_token(user, acme).token)
    assert principal.is_person
    assert principal.roles == ("platform_admin", "operator")
    assert principal.role == "platform_admin"
    assert principal.may_use("anything.at_all")


def test_verifying_costs_one_statement(agent: Agent, django_assert_num_queries: Any) -> None:
    user = make_member(agent.tenant, "operator", "auditor")
    tokens = [make_agent_token(agent).token, make_user_token(user, agent.tenant).token]
    for token in tokens:
        with django_assert_num_queries(1):
            verify_bearer(token)


def test_a_lowered_agent_lowers_its_tokens(agent: Agent) -> None:
    token = make_agent_token(agent).token
    Agent.objects.filter(pk=agent.pk).update(max_mode="read_only")
    assert verify_bearer(token).max_mode is ApprovalMode.READ_ONLY


def test_a_revoked_token_is_refused_at_once(agent: Agent) -> None:
    made = make_agent_token(agent)
    services.revoke_token(token_id=made.row.pk, actor=SYSTEM, reason="leaked")
    assert refused(made.token) == "auth.revoked"
    with pytest.raises(ContextOSError) as caught:
        services.revoke_token(token_id=made.row.pk, actor=SYSTEM, reason="again")
    assert caught.value.code == "token.already_revoked"


def test_revoking_needs_a_reason(agent: Agent) -> None:
    made = make_agent_token(agent)
    with pytest.raises(ContextOSError) as caught:
        services.revoke_token(token_id=made.row.pk, actor=SYSTEM, reason="  ")
    assert caught.value.code == "reason.missing"
    assert verify_bearer(made.token).id == "refunds"


def test_a_half_revocation_is_refused_by_the_database(agent: Agent) -> None:
    made = make_agent_token(agent)
    with pytest.raises(IntegrityError), transaction.atomic():
        IssuedToken.objects.filter(pk=made.row.pk).update(revoked_by="somebody")


def test_an_expired_token_is_refused(agent: Agent) -> None:
    token = make_agent_token(agent, lifetime=timedelta(minutes=5)).token
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=5, seconds=6)):
        assert refused(token) == "auth.expired"


def test_a_token_from_the_future_is_refused(agent: Agent) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=10)):
        token = make_agent_token(agent).token
    assert refused(token) == "auth.not_yet_valid"


def test_a_switched_off_agent_or_tenant_is_refused(agent: Agent) -> None:
    token = make_agent_token(agent).token
    services.set_agent_active(agent_pk=agent.pk, active=False, actor=SYSTEM)
    assert refused(token) == "auth.subject_inactive"
    services.set_agent_active(agent_pk=agent.pk, active=True, actor=SYSTEM)
    services.set_tenant_active(tenant_id=agent.tenant_id, active=False, actor=SYSTEM)
    assert refused(token) == "auth.subject_inactive"


def test_a_persons_token_ends_with_the_membership(acme: Tenant) -> None:
    user = make_user()
    membership = grant(user, acme, "finance_approver")
    token = make_user_token(user, acme).token
    Membership.objects.filter(pk=membership.pk).update(valid_until=datetime.now(UTC))
    assert refused(token) == "auth.access_ended"


def test_a_token_of_one_tenant_says_nothing_in_another(acme: Tenant, globex: Tenant) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "platform_admin")
    principal = verify_bearer(make_user_token(user, acme).token)
    assert (principal.tenant_id, principal.roles) == (acme.pk, ("operator",))


# --- forged -------------------------------------------------------------------------------------
def forged_claims(agent: Agent, **changes: Any) -> dict[str, Any]:
    made = make_agent_token(agent)
    return content(made.token) | changes


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"aud": "another-service"}, "auth.wrong_audience"),
        ({"aud": ["x", "y"]}, "auth.wrong_audience"),
        ({"iss": "https://evil.example.test"}, "auth.wrong_issuer"),
        ({"tenant_id": "globex_prod"}, "auth.subject_inactive"),
        ({"sub": "another_agent"}, "auth.subject_inactive"),
        ({"jti": "tok_never_issued"}, "auth.revoked"),
        ({"kind": "user"}, "auth.subject_inactive"),
        ({"kind": "adapter"}, "auth.wrong_type"),
        ({"kind": None}, "auth.claim_missing"),
        ({"tenant_id": None}, "auth.claim_missing"),
        ({"tenant_id": 7}, "auth.claim_missing"),
        ({"exp": "soon"}, "auth.claim_invalid"),
        ({"exp": 1}, "auth.expired"),
        ({"scopes": "payments.issue_refund"}, "auth.claim_invalid"),
        ({"max_mode": 5}, "auth.claim_invalid"),
        ({"max_mode": "god"}, "auth.claim_invalid"),
        ({"max_mode": ["network"]}, "auth.claim_invalid"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_claims_signed_by_our_key_are_still_checked(
    agent: Agent, changes: dict[str, Any], code: str
) -> None:
    given = forged_claims(agent, **changes)
    assert refused(eddsa(token_signer(), {k: v for k, v in given.items() if v is not None})) == code


def test_a_signature_of_another_key_is_refused(agent: Agent) -> None:
    given, stranger = forged_claims(agent), Ed25519Signer.generate()
    own_kid = token_signer().verification_key.kid
    assert refused(eddsa(stranger, given)) == "auth.unknown_key"
    assert refused(eddsa(stranger, given, kid=own_kid)) == "auth.bad_signature"


def test_alg_none_is_refused(agent: Agent) -> None:
    given, kid = forged_claims(agent), token_signer().verification_key.kid
    assert refused(unsigned(given, kid=kid)) == "auth.algorithm"
    assert refused(unsigned(given, kid=kid, alg="None")) == "auth.algorithm"


def test_the_public_key_is_no_shared_secret(agent: Agent) -> None:
    key = token_signer().verification_key
    given = forged_claims(agent)
    for secret in (key.public_bytes, base64url.encode(key.public_bytes).encode()):
        assert refused(hs256(secret, given, kid=key.kid)) == "auth.algorithm"


def test_keys_of_other_purposes_sign_no_tokens(agent: Agent) -> None:
    given = forged_claims(agent)
    manifests = key_store().ensure(KeyPurpose.MANIFESTS)
    assert refused(eddsa(manifests, given)) == "auth.unknown_key"


@pytest.mark.parametrize(
    "token",
    ["", "a", "a.b", "a.b.c", "....", "\x00.\x00.\x00", "é.é.é", "e30.e30.", "x" * 100_000],
    ids=["empty", "one", "two", "three", "dots", "nul", "accents", "objects", "oversized"],
)
@pytest.mark.django_db
def test_garbage_is_refused_as_such(token: str) -> None:
    with pytest.raises(ContextOSError) as caught:
        verify_bearer(token)
    assert caught.value.code in {"auth.malformed", "auth.wrong_issuer"}


def test_an_oversized_but_signed_token_is_refused(agent: Agent) -> None:
    given = forged_claims(agent, padding="x" * 20_000)
    assert refused(eddsa(token_signer(), given)) == "auth.malformed"


def test_a_changed_byte_anywhere_is_noticed(agent: Agent) -> None:
    token = make_agent_token(agent).token
    for position in range(0, len(token), 17):
        letter = "A" if token[position] != "A" else "B"
        with pytest.raises(ContextOSError):
            verify_bearer(token[:position] + letter + token[position + 1 :])


# --- seen before --------------------------------------------------------------------------------
def test_a_token_used_before_is_judged_anew_in_everything_but_its_signature(agent: Agent) -> None:
    made = make_agent_token(agent, lifetime=timedelta(minutes=5))
    assert verify_bearer(made.token).id == verify_bearer(made.token).id == "refunds"
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=5, seconds=6)):
        assert refused(made.token) == "auth.expired"
    Agent.objects.filter(pk=agent.pk).update(max_mode="read_only")
    assert verify_bearer(made.token).max_mode is ApprovalMode.READ_ONLY
    services.revoke_token(token_id=made.row.pk, actor=SYSTEM, reason="leaked")
    assert refused(made.token) == "auth.revoked"


def test_a_token_used_before_falls_with_its_key(agent: Agent, tmp_path: Path) -> None:
    token = make_agent_token(agent).token
    assert verify_bearer(token).id == "refunds"
    for file in (tmp_path / "keys").rglob("*"):
        if file.is_file():
            file.unlink()
    make_agent_token(agent)  # where a developer sits, that makes a key anew
    forget_cached_keys()
    assert refused(token) == "auth.unknown_key"


def test_the_second_use_checks_no_signature(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    token = make_agent_token(agent).token
    verify_bearer(token)
    checked: list[object] = []
    monkeypatch.setattr(
        "contextos.core.tokens._check_signature", lambda *given: checked.append(given)
    )
    assert verify_bearer(token).id == "refunds"
    assert not checked


# --- rotation -----------------------------------------------------------------------------------
def test_tokens_of_a_rotated_key_verify_until_they_expire(agent: Agent) -> None:
    old = make_agent_token(agent).token
    kid = services.rotate_key(purpose=KeyPurpose.TOKENS, actor=SYSTEM, reason="yearly")
    new = make_agent_token(agent)
    assert new.row.kid == kid
    assert verify_bearer(old).id == verify_bearer(new.token).id == "refunds"
    event = AuditEvent.objects.get(action="identity.key.rotated")
    assert event.tenant_id == "platform"
    with time_machine.travel(datetime.now(UTC) + timedelta(days=31)):
        forget_cached_keys()
        assert refused(old) == "auth.unknown_key"


def test_production_makes_no_key_on_its_own(agent: Agent, settings: Any) -> None:
    settings.CONTEXTOS_ENV = "production"
    with pytest.raises(ContextOSError) as caught:
        make_agent_token(agent)
    assert caught.value.code == "signing.key_missing"
    services.rotate_key(purpose=KeyPurpose.TOKENS, actor=SYSTEM)
    assert verify_bearer(make_agent_token(agent).token).id == "refunds"
