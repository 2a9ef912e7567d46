"""Issuing and revoking tokens; the token leaves this process once and is kept nowhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.core.modes import ApprovalMode, exceeds, parse_mode
from contextos.core.tokens import sign_token
from contextos.identity.access import roles_of
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock, require_reason
from contextos.identity.events import record_event
from contextos.identity.keyring import token_signer
from contextos.identity.models import Agent, IssuedToken, Membership, Tenant, User
from contextos.identity.models.tokens import TokenKind
from contextos.identity.token_terms import AUDIENCE, TOKEN_TYPE, token_issuer

DEFAULT_LIFETIME = timedelta(hours=1)
MAX_LIFETIME = timedelta(days=30)
MAX_SCOPES = 200
_CAPABILITY_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


@dataclass(frozen=True, slots=True)
class IssuedGrant:
    """The row that stays, and the token that is shown once."""

    row: IssuedToken
    token: str = field(repr=False)


@transaction.atomic
def issue_agent_token(
    *,
    tenant_id: str,
    agent_id: str,
    actor: Actor,
    lifetime: timedelta = DEFAULT_LIFETIME,
    scopes: Sequence[str] | None = None,
    max_mode: str | None = None,
) -> IssuedGrant:
    """A token for an agent; without `scopes` not narrowed, without a mode the agent's highest."""
    require_authority(actor, tenant_id)
    agent = Agent.objects.select_related("tenant").filter(tenant_id=tenant_id, agent_id=agent_id)
    found = agent.first()
    if found is None:
        raise coded_error(
            "request.not_found", message=f"There is no agent {agent_id} in {tenant_id}."
        )
    _require_usable(found.is_active and found.tenant.is_active)
    mode = _agent_mode(found, max_mode)
    return _issue(
        tenant=found.tenant,
        kind=TokenKind.AGENT,
        subject=found.agent_id,
        label=found.name,
        mode=mode,
        actor=actor,
        lifetime=lifetime,
        scopes=scopes,
    )


@transaction.atomic
def issue_user_token(
    *,
    tenant_id: str,
    user: User,
    actor: Actor,
    lifetime: timedelta = DEFAULT_LIFETIME,
    scopes: Sequence[str] | None = None,
    max_mode: str | None = None,
) -> IssuedGrant:
    """A token for a person in one tenant, also good as a delegation to an agent."""
    require_authority(actor, tenant_id)
    tenant = lock(Tenant, tenant_id)
    _require_usable(bool(roles_of(user, tenant_id)))
    return _issue(
        tenant=tenant,
        kind=TokenKind.USER,
        subject=user.user_id,
        label=user.username,
        mode=parse_mode(max_mode) if max_mode else ApprovalMode.DESTRUCTIVE,
        actor=actor,
        lifetime=_within_term(user, tenant_id, lifetime),
        scopes=scopes,
    )


def _within_term(user: User, tenant_id: str, lifetime: timedelta) -> timedelta:
    """No longer than the last of the person's roles: an auditor's token ends with the access."""
    held = Membership.objects.current().filter(user=user, tenant_id=tenant_id)
    ends = list(held.values_list("valid_until", flat=True))
    if not ends or None in ends:
        return lifetime
    left = max(end for end in ends if end is not None) - utcnow()
    return min(lifetime, max(left, timedelta(seconds=1)))


@transaction.atomic
def revoke_token(*, token_id: str, actor: Actor, reason: str) -> IssuedToken:
    """Make a token useless from the next call on; a reason is needed."""
    row = lock(IssuedToken, token_id)
    require_authority(actor, row.tenant_id)
    if row.revoked_at is not None:
        raise coded_error("token.already_revoked")
    _revoke(row, actor, require_reason(reason))
    return row


@transaction.atomic
def revoke_tokens_of(*, person: User, actor: Actor, reason: str) -> None:
    """Revoke every usable token of a person, in every tenant."""
    usable = IssuedToken.objects.usable().select_for_update()
    for row in usable.filter(kind=TokenKind.USER, subject=person.user_id):
        _revoke(row, actor, reason)


def _issue(
    *,
    tenant: Tenant,
    kind: TokenKind,
    subject: str,
    label: str,
    mode: ApprovalMode,
    actor: Actor,
    lifetime: timedelta,
    scopes: Sequence[str] | None,
) -> IssuedGrant:
    now = utcnow().replace(microsecond=0)  # claims count whole seconds, and the row says the same
    signer = token_signer()
    row = IssuedToken(
        token_id=new_id("tok"),
        tenant=tenant,
        kind=kind,
        subject=subject,
        subject_label=label,
        scopes=_checked_scopes(scopes),
        max_mode=mode.value,
        kid=signer.verification_key.kid,
        issued_by=actor.id,
        issued_at=now,
        expires_at=now + _checked_lifetime(lifetime),
    )
    row.save(force_insert=True)
    _record_issue(row, actor)
    return IssuedGrant(row=row, token=sign_token(_claims(row), signer=signer, typ=TOKEN_TYPE))


def _claims(row: IssuedToken) -> dict[str, Any]:
    claims: dict[str, Any] = {
        "iss": token_issuer(),
        "aud": AUDIENCE,
        "sub": row.subject,
        "jti": row.token_id,
        "iat": _seconds(row.issued_at),
        "nbf": _seconds(row.issued_at),
        "exp": _seconds(row.expires_at),
        "tenant_id": row.tenant_id,
        "kind": str(row.kind),
        "max_mode": row.max_mode,
    }
    return claims if row.scopes is None else claims | {"scopes": row.scopes}


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def _agent_mode(agent: Agent, wanted: str | None) -> ApprovalMode:
    highest = ApprovalMode(agent.max_mode)
    mode = parse_mode(wanted) if wanted else highest
    if exceeds(mode, highest):
        raise coded_error(
            "token.mode_above_agent", data={"wanted": mode.value, "highest": highest.value}
        )
    return mode


def _checked_lifetime(lifetime: timedelta) -> timedelta:
    if not timedelta(seconds=1) <= lifetime <= MAX_LIFETIME:
        raise coded_error("token.lifetime_invalid")
    return lifetime


def _checked_scopes(scopes: Sequence[str] | None) -> list[str] | None:
    if scopes is None:
        return None
    if len(scopes) > MAX_SCOPES or not all(_CAPABILITY_ID.fullmatch(name) for name in scopes):
        raise coded_error("token.scopes_invalid")
    return sorted(set(scopes))


def _require_usable(usable: bool) -> None:
    if not usable:
        raise coded_error(
            "auth.subject_inactive",
            message="A token needs an active tenant and a subject that may act in it now.",
        )


def _revoke(row: IssuedToken, actor: Actor, reason: str) -> None:
    row.revoked_at, row.revoked_by, row.revoke_reason = utcnow(), actor.id, reason[:500]
    row.save(update_fields=["revoked_at", "revoked_by", "revoke_reason"])
    record_event(
        tenant_id=row.tenant_id,
        action="identity.token.revoked",
        actor=actor,
        subject_kind="token",
        subject_id=row.token_id,
        reason=reason,
        data={"kind": str(row.kind), "subject": row.subject},
    )


def _record_issue(row: IssuedToken, actor: Actor) -> None:
    record_event(
        tenant_id=row.tenant_id,
        action="identity.token.issued",
        actor=actor,
        subject_kind="token",
        subject_id=row.token_id,
        data={
            "kind": str(row.kind),
            "subject": row.subject,
            "scopes": row.scopes,
            "max_mode": row.max_mode,
            "expires_at": format_time(row.expires_at),
        },
    )
