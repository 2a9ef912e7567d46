"""Our signed word to an adapter: who acts for whom, on which decision; good for one minute (C8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings

from contextos.core.clock import utcnow
from contextos.core.envelopes import PrincipalKind
from contextos.core.ids import new_id
from contextos.core.signing import KeyPurpose
from contextos.core.tokens import sign_token
from contextos.identity.keyring import signer_for
from gateway.attempts import Attempt

LIFETIME = timedelta(seconds=60)
TYPE = "contextos-metadata+jwt"


def metadata_token(attempt: Attempt, scopes: tuple[str, ...] = ()) -> str:
    """A JWT for the adapter alone; its public key is at /.well-known/jwks.json by its kid."""
    call, chain = attempt.call, attempt.facts.principal_chain
    now = int(utcnow().timestamp())
    claims: dict[str, Any] = {
        "iss": settings.TOKEN_ISSUER,
        "aud": call.adapter_id,
        "sub": chain[0].id,
        "iat": now,
        "exp": now + int(LIFETIME.total_seconds()),
        "jti": new_id("tok"),
        "tenant_id": call.tenant_id,
        "environment": attempt.environment,
        "principal_chain": [
            {"kind": link.kind.value, "id": link.id, "tenant_id": link.tenant_id} for link in chain
        ],
        "scopes": list(scopes),
        "capability_id": call.capability_id,
        "approval_mode": call.mode_effective,
        "policy_decision_id": attempt.policy_decision_id,
        "decision_id": call.decision_id,
        "tool_call_id": call.tool_call_id,
        "run_id": call.run_id,
        "trace_id": attempt.facts.trace_id,
    }
    if chain[0].kind is PrincipalKind.USER:
        claims["act"] = {"sub": call.agent_id}
    return sign_token(claims, signer=signer_for(KeyPurpose.METADATA), typ=TYPE)
