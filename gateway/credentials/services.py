"""Changes to credentials: each checked, recorded, and without the secret in any of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from audit.services import record_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock, require_reason
from contextos.identity.models import Environment
from contextos.net.targets import parse_target
from gateway.consents.services import end_consents
from gateway.credentials.certificates import read_certificate
from gateway.credentials.keeping import seal_secret
from gateway.credentials.shape import check_secret, check_shape
from gateway.models import AdapterCredential, CredentialKind
from registry.models import Adapter, Capability

LONGEST_OVERLAP = timedelta(days=30)
CHANGEABLE = ("name", "issuer", "authorization_endpoint", "sends_issuer", "header_name")
_UNCHECKED = ("sealed_secret", "sealed_previous")
SETTINGS = (
    "name",
    "issuer",
    "token_endpoint",
    "authorization_endpoint",
    "revocation_endpoint",
    "sends_issuer",
    "client_id",
    "client_auth",
    "header_name",
    "authority",
)


@transaction.atomic
def add_credential(
    *,
    tenant_id: str,
    environment: str,
    adapter_id: str,
    kind: str,
    name: str,
    actor: Actor,
    capability_id: str = "",
    secret: str = "",
    **settings: Any,
) -> AdapterCredential:
    """Keep a credential for an adapter, or for one of its capabilities alone."""
    require_authority(actor, tenant_id)
    _require_place(tenant_id, environment, adapter_id, capability_id)
    row = AdapterCredential(
        credential_id=new_id("cred"),
        tenant_id=tenant_id,
        environment=environment,
        adapter_id=adapter_id,
        capability_id=capability_id,
        kind=kind,
        name=name,
        created_at=utcnow(),
        **{field: value for field, value in settings.items() if field in SETTINGS},
    )
    _check(row, secret)
    _put(row, secret)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise coded_error("credential.taken") from None
    _record(row, "credential.added", actor, data=facts_of(row))
    return row


@transaction.atomic
def update_credential(*, credential_id: str, actor: Actor, **settings: Any) -> AdapterCredential:
    """Change what does not decide where the secret goes: for that it has to be entered anew."""
    row = _locked(credential_id, actor)
    before = {field: getattr(row, field) for field in CHANGEABLE}
    for field in CHANGEABLE:
        setattr(row, field, settings.get(field, before[field]))
    changed = [field for field in CHANGEABLE if getattr(row, field) != before[field]]
    if changed:
        row.full_clean(exclude=_UNCHECKED, validate_constraints=False)
        check_shape(row)
        row.save(update_fields=changed)
        _record(row, "credential.changed", actor, data={"changed": changed, **facts_of(row)})
    return row


@transaction.atomic
def rotate_credential(
    *, credential_id: str, secret: str, actor: Actor, overlap: timedelta, reason: str = ""
) -> AdapterCredential:
    """Use a new secret from now on; the one before is fallen back to until the overlap ends."""
    row = _locked(credential_id, actor)
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise coded_error("credential.invalid", message="The overlap is 30 days at most.")
    check_secret(row, secret)
    now, old = utcnow(), (row.sealed_secret, row.fingerprint)
    keeps = bool(overlap) and row.sealed_secret is not None
    row.version += 1
    row.sealed_previous, row.previous_fingerprint = old if keeps else (None, "")
    row.previous_until = now + overlap if keeps else None
    row.previous_used_at = None
    row.rotated_at = now
    _put(row, secret)
    row.save()
    _record(
        row,
        "credential.rotated",
        actor,
        reason=reason,
        data={
            "version": row.version,
            "fingerprint": row.fingerprint,
            "previous_fingerprint": row.previous_fingerprint,
            "previous_until": _time(row.previous_until),
        },
    )
    return row


@transaction.atomic
def end_overlap(*, credential_id: str, actor: Actor) -> AdapterCredential:
    """Forget the secret before at once."""
    row = _locked(credential_id, actor)
    row.sealed_previous, row.previous_fingerprint, row.previous_until = None, "", None
    row.save(update_fields=["sealed_previous", "previous_fingerprint", "previous_until"])
    _record(row, "credential.overlap_ended", actor)
    return row


@transaction.atomic
def revoke_credential(*, credential_id: str, actor: Actor, reason: str) -> AdapterCredential:
    """Never use it again: its secrets and what people consented to are deleted, the row stays for
    the records that name it."""
    row = _locked(credential_id, actor)
    stated = require_reason(reason)
    row.sealed_secret = row.sealed_previous = None
    row.previous_until, row.revoked_at = None, utcnow()
    row.save()
    end_consents(row, actor=actor, reason=stated)
    _record(row, "credential.revoked", actor, reason=stated)
    return row


def note_fallback(row: AdapterCredential) -> None:
    """The far side refused the new secret and took the one before: somebody should look."""
    now = utcnow()
    stale = AdapterCredential.objects.filter(pk=row.pk, version=row.version).exclude(
        previous_used_at__gt=now - timedelta(minutes=1)
    )
    stale.update(previous_used_at=now)


def facts_of(row: AdapterCredential) -> dict[str, Any]:
    """What a record says of it: hosts, not addresses, since a path may hold a key."""
    return {
        "environment": row.environment,
        "adapter_id": row.adapter_id,
        "capability_id": row.capability_id or None,
        "kind": str(row.kind),
        "name": row.name,
        "issuer": row.issuer or None,
        "token_host": _host(row.token_endpoint),
        "authorization_host": _host(row.authorization_endpoint),
        "client_id": row.client_id or None,
        "client_auth": str(row.client_auth),
        "header_name": row.header_name or None,
        "fingerprint": row.fingerprint,
        "version": row.version,
    }


def _locked(credential_id: str, actor: Actor) -> AdapterCredential:
    row = lock(AdapterCredential, credential_id)
    require_authority(actor, row.tenant_id)
    if row.revoked_at is not None:
        raise coded_error("credential.revoked")
    return row


def _check(row: AdapterCredential, secret: str) -> None:
    if row.kind not in CredentialKind.values:
        raise coded_error("credential.invalid", message="There is no such kind of credential.")
    row.full_clean(exclude=_UNCHECKED, validate_constraints=False)
    check_shape(row)
    check_secret(row, secret)


def _put(row: AdapterCredential, secret: str) -> None:
    if not secret:
        return
    seal_secret(row, secret)
    row.secret_ends_at = None
    if row.kind == CredentialKind.MTLS:
        certificate = read_certificate(secret)
        row.fingerprint = f"sha256 {certificate.fingerprint}"
        row.secret_ends_at = certificate.ends_at


def _require_place(tenant_id: str, environment: str, adapter_id: str, capability_id: str) -> None:
    environments = Environment.objects.filter(tenant_id=tenant_id, name=environment)
    if not environments.exists():
        raise coded_error("credential.invalid", message="The tenant has no such environment.")
    if not Adapter.objects.filter(tenant_id=tenant_id, adapter_id=adapter_id).exists():
        raise coded_error("credential.invalid", message="The tenant has no such adapter.")
    known = Capability.objects.filter(
        tenant_id=tenant_id, version__adapter__adapter_id=adapter_id, capability_id=capability_id
    )
    if capability_id and not known.exists():
        raise coded_error("credential.invalid", message="The adapter has no such capability.")


def _host(url: str) -> str | None:
    return parse_target(url).host if url else None


def _time(moment: datetime | None) -> str | None:
    return format_time(moment) if moment else None


def _record(
    row: AdapterCredential,
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
        subject_kind="credential",
        subject_id=row.credential_id,
        reason=reason,
        data=data or {},
    )
