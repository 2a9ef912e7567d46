"""Changes to consents: granted, taken back, lost; each recorded, none with a token in it."""

from __future__ import annotations

from typing import Any

import structlog
from django.db import transaction

from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor, automation
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock, require_reason
from gateway.consents.kept import opened_tokens, sealed_tokens
from gateway.credentials.endpoint import DEADLINE, Granted, post_form
from gateway.credentials.keeping import open_secret
from gateway.models import AdapterCredential, Consent, ConsentRequest, ConsentState

log = structlog.get_logger(__name__)
BROKER = automation("credential-broker")


@transaction.atomic
def grant_consent(*, request: ConsentRequest, granted: Granted, actor: Actor) -> Consent:
    """Keep a person's yes; it takes the place of what they had granted this client before."""
    now = utcnow()
    active = Consent.objects.select_for_update().filter(
        credential_id=request.credential_id, user_id=request.user_id, revoked_at__isnull=True
    )
    active.update(revoked_at=now, sealed_tokens=b"")
    consent = Consent(
        consent_id=new_id("cns"),
        tenant_id=request.tenant_id,
        credential_id=request.credential_id,
        user_id=request.user_id,
        # Of a server that gives more, no more than the page showed: the person never saw the rest.
        scopes=sorted(set(granted.scopes) & set(request.scopes)),
        granted_at=now,
    )
    consent.sealed_tokens = sealed_tokens(consent, granted)
    consent.save(force_insert=True)
    data = {"scopes": consent.scopes, "credential_id": request.credential_id}
    _record(consent, "consent.granted", actor, data={**data, "user_id": request.user_id})
    return consent


def revoke_consent(*, consent_id: str, actor: Actor, reason: str) -> Consent:
    """Take it back here at once, and then at the far side as well, if it offers that."""
    stated = require_reason(reason)
    with transaction.atomic():
        consent = lock(Consent, consent_id)
        require_authority(actor, consent.tenant_id)
        if consent.revoked_at is not None:
            raise coded_error("consent.already_revoked")
        kept = opened_tokens(consent)
        _end(consent, "consent.revoked", actor, reason=stated)
    _revoke_there(consent.credential, kept)
    return consent


@transaction.atomic
def lose_consent(*, consent_id: str) -> None:
    """The far side does not honour it any more: it is ended, and the person asked again."""
    consent = lock(Consent, consent_id)
    if consent.revoked_at is None:
        _end(consent, "consent.lost", BROKER)


def end_consents(row: AdapterCredential, *, actor: Actor, reason: str) -> None:
    """Their client is gone: what people allowed it ends with it, and nobody is asked for more.

    A call that waits goes on with the next sweep, and finds today's credential, or none.
    """
    active = Consent.objects.select_for_update().filter(credential=row, revoked_at__isnull=True)
    for consent in active:
        _end(consent, "consent.revoked", actor, reason=reason)
    asked = ConsentRequest.objects.filter(credential=row, state=ConsentState.PENDING)
    asked.update(state=ConsentState.WITHDRAWN, decided_at=utcnow(), sealed_verifier=None)


def _end(consent: Consent, action: str, actor: Actor, *, reason: str = "") -> None:
    consent.revoked_at, consent.sealed_tokens = utcnow(), b""
    consent.save(update_fields=["revoked_at", "sealed_tokens"])
    data = {"user_id": consent.user_id, "credential_id": consent.credential_id}
    _record(consent, action, actor, reason=reason, data=data)


def _revoke_there(row: AdapterCredential, kept: dict[str, Any]) -> None:
    """RFC 7009. Here it is over in any case, so a server that does not answer stops nothing."""
    if not row.revocation_endpoint or row.revoked_at is not None:
        return
    name = "refresh_token" if kept.get("refresh_token") else "access_token"
    form = {"token": str(kept[name]), "token_type_hint": name}
    try:
        secret = open_secret(row)
        answer = post_form(row, row.revocation_endpoint, form, secret=secret, patience=DEADLINE)
    except ContextOSError as fault:
        log.warning("a consent could not be revoked there", credential=row.ref, code=fault.code)
        return
    if answer.status != 200:
        log.warning("a consent was not revoked there", credential=row.ref, status=answer.status)


def _record(
    consent: Consent, action: str, actor: Actor, *, data: dict[str, Any], reason: str = ""
) -> None:
    record_event(
        tenant_id=consent.tenant_id,
        action=action,
        actor=actor,
        subject_kind="consent",
        subject_id=consent.pk,
        reason=reason,
        data=data,
    )
