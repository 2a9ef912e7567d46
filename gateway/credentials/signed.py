"""Tokens that we sign ourselves: for a far side that trusts us, and for a token endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings

from contextos.core.clock import utcnow
from contextos.core.ids import new_id
from contextos.core.signing import KeyPurpose
from contextos.core.tokens import sign_token
from contextos.identity.keyring import signer_for
from gateway.credentials.terms import Ask

WORKLOAD_LIFETIME = timedelta(minutes=5)
ASSERTION_LIFETIME = timedelta(seconds=60)


def workload_token(ask: Ask) -> str:
    """Says to the far side itself: this agent, for this person, with these scopes."""
    claims = {**_parties(ask), "aud": list(ask.audiences) or ask.resource or ask.adapter_id}
    claims |= {"scope": " ".join(ask.scopes), "environment": ask.environment}
    return _signed(claims, WORKLOAD_LIFETIME)


def subject_token(ask: Ask, *, audience: str) -> str:
    """Whom an exchange is for. Minted by us: what the caller sent never leaves (no passthrough)."""
    return _signed({**_parties(ask), "aud": audience}, ASSERTION_LIFETIME)


def actor_token(ask: Ask, *, audience: str) -> str:
    """Who acts in an exchange: the agent."""
    claims = {"sub": ask.agent_id, "tenant_id": ask.tenant_id, "aud": audience}
    return _signed(claims, ASSERTION_LIFETIME)


def client_assertion(client_id: str, *, audience: str) -> str:
    """Which client we are, without a shared secret (RFC 7523)."""
    claims = {"iss": client_id, "sub": client_id, "aud": audience}
    return _signed(claims, ASSERTION_LIFETIME)


def _parties(ask: Ask) -> dict[str, Any]:
    """The acting chain: the person with the agent acting for them, or the agent alone."""
    parties: dict[str, Any] = {"sub": ask.user_id or ask.agent_id, "tenant_id": ask.tenant_id}
    return parties | ({"act": {"sub": ask.agent_id}} if ask.user_id else {})


def _signed(claims: Mapping[str, Any], lifetime: timedelta) -> str:
    now = int(utcnow().timestamp())
    full = {
        "iss": settings.TOKEN_ISSUER,
        "iat": now,
        "exp": now + int(lifetime.total_seconds()),
        "jti": new_id("tok"),
        **claims,
    }
    return sign_token(full, signer=signer_for(KeyPurpose.WORKLOAD))
