"""Changes to the outside issuers a tenant trusts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from contextos.core.canonical import digest
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor
from contextos.core.tokens import ALGORITHMS, key_set
from contextos.identity.actors import require_authority
from contextos.identity.changes import apply_changes, lock
from contextos.identity.events import record_event
from contextos.identity.models import Tenant, TrustedIssuer
from contextos.identity.token_terms import token_issuer

_PRIVATE_MEMBERS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


@transaction.atomic
def trust_issuer(
    *,
    tenant_id: str,
    name: str,
    issuer: str,
    audience: str,
    subject_kind: str,
    algorithms: Sequence[str],
    actor: Actor,
    jwks_url: str = "",
    jwks: Mapping[str, Any] | None = None,
) -> TrustedIssuer:
    """Accept another issuer's tokens for this tenant's agents or people."""
    require_authority(actor, tenant_id)
    if issuer == token_issuer():
        raise coded_error("issuer.reserved")
    row = TrustedIssuer(
        tenant=lock(Tenant, tenant_id),
        name=name,
        issuer=issuer,
        audience=audience,
        subject_kind=subject_kind,
        **_checked_keys(algorithms, jwks_url, jwks),
    )
    row.full_clean()
    row.save(force_insert=True)
    _record(row, "identity.issuer.trusted", actor, data=_summary(row))
    return row


@transaction.atomic
def update_issuer(
    *,
    issuer_pk: int,
    actor: Actor,
    name: str,
    audience: str,
    algorithms: Sequence[str],
    jwks_url: str = "",
    jwks: Mapping[str, Any] | None = None,
) -> TrustedIssuer:
    """Change keys, audience or algorithms; whom it speaks for stays as it was trusted."""
    row = lock(TrustedIssuer, issuer_pk)
    require_authority(actor, row.tenant_id)
    keys = _checked_keys(algorithms, jwks_url, jwks)
    if apply_changes(row, name=name, audience=audience, **keys):
        _record(row, "identity.issuer.changed", actor, data=_summary(row))
    return row


@transaction.atomic
def set_issuer_active(
    *, issuer_pk: int, active: bool, actor: Actor, reason: str = ""
) -> TrustedIssuer:
    """Stop or resume trusting an issuer, from the next call on."""
    row = lock(TrustedIssuer, issuer_pk)
    require_authority(actor, row.tenant_id)
    if apply_changes(row, is_active=active):
        verb = "activated" if active else "deactivated"
        _record(row, f"identity.issuer.{verb}", actor, reason=reason)
    return row


def _checked_keys(
    algorithms: Sequence[str], jwks_url: str, jwks: Mapping[str, Any] | None
) -> dict[str, Any]:
    if not algorithms or not ALGORITHMS.issuperset(algorithms):
        raise coded_error("issuer.algorithms_invalid")
    if bool(jwks_url) == bool(jwks):
        raise coded_error("issuer.keys_invalid")
    if jwks:
        _require_public_keys(jwks)
    return {
        "algorithms": sorted(set(algorithms)),
        "jwks_url": jwks_url,
        "jwks": dict(jwks) if jwks else None,
    }


def _require_public_keys(jwks: Mapping[str, Any]) -> None:
    entries = jwks.get("keys")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and not _PRIVATE_MEMBERS.isdisjoint(entry):
            raise coded_error(
                "issuer.keys_invalid",
                message="The pasted set holds a secret or private key; it was not kept.",
            )
    try:
        key_set(jwks)
    except ContextOSError as fault:
        raise coded_error("issuer.keys_invalid", message=fault.message) from None


def _summary(row: TrustedIssuer) -> dict[str, Any]:
    return {
        "issuer": row.issuer,
        "audience": row.audience,
        "subject_kind": str(row.subject_kind),
        "algorithms": row.algorithms,
        "jwks_url": row.jwks_url,
        "jwks_hash": digest(row.jwks) if row.jwks else None,
    }


def _record(
    row: TrustedIssuer,
    action: str,
    actor: Actor,
    *,
    reason: str = "",
    data: dict[str, Any] | None = None,
) -> None:
    record_event(
        tenant_id=row.tenant_id,
        action=action,
        actor=actor,
        subject_kind="issuer",
        subject_id=str(row.pk),
        reason=reason,
        data=data,
    )
