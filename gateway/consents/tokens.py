"""Tokens that a person's consent brought: used while they last, renewed by one process at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Q

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway.consents.kept import opened_tokens, sealed_tokens, usable_token
from gateway.consents.services import lose_consent
from gateway.credentials.endpoint import Granted
from gateway.credentials.error_codes import CONSENT_NEEDED
from gateway.credentials.overlap import token_with_either_secret
from gateway.credentials.terms import Ask
from gateway.credentials.tokens import AccessToken
from gateway.models import AdapterCredential, Consent

CLAIM = timedelta(seconds=20)
_LOOK_AGAIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A token for a person: from which client, for what, for whom, in what time."""

    row: AdapterCredential
    ask: Ask
    aim: Mapping[str, str]
    refused: str | None  # a token that the far side does not take
    patience: float


def consented_token(wanted: Wanted) -> AccessToken:
    """A token with exactly the scopes of this capability, where the server can narrow one."""
    until = time.monotonic() + wanted.patience
    while True:
        consent = consent_for(wanted.row, wanted.ask)
        kept = opened_tokens(consent)
        token = usable_token(kept, wanted.ask.scopes, refused=wanted.refused)
        if token is not None:
            return token
        if not kept.get("refresh_token"):
            raise _needed(wanted.row, wanted.ask)
        if _claimed(consent):
            return _renewed(wanted, consent, str(kept["refresh_token"]))
        if time.monotonic() > until:
            raise coded_error("credential.endpoint_unreachable")
        time.sleep(_LOOK_AGAIN)  # another process is renewing it


def consent_for(row: AdapterCredential, ask: Ask) -> Consent:
    """The consent that covers this ask today; asked for before any token kept in memory is used."""
    if not ask.user_id:
        raise coded_error("credential.person_needed")
    found = Consent.objects.filter(
        credential=row, user_id=ask.user_id, tenant_id=ask.tenant_id, revoked_at__isnull=True
    ).first()
    if found is None or not set(ask.scopes) <= set(found.scopes):
        raise _needed(row, ask)
    return found


def _needed(row: AdapterCredential, ask: Ask) -> ContextOSError:
    data = {"credential_id": row.credential_id, "scopes": list(ask.scopes)}
    return coded_error(CONSENT_NEEDED, data=data)


def _claimed(consent: Consent) -> bool:
    """A refresh token may be good for one use: nobody else renews meanwhile."""
    now = utcnow()
    free = Q(renewing_until__isnull=True) | Q(renewing_until__lt=now)
    rows = Consent.objects.filter(
        free, pk=consent.pk, token_version=consent.token_version, revoked_at__isnull=True
    )
    return bool(rows.update(renewing_until=now + CLAIM))


def _renewed(wanted: Wanted, consent: Consent, refresh_token: str) -> AccessToken:
    # Whose claim ran out under way finds another version, and leaves the newer tokens alone.
    mine = Consent.objects.filter(
        pk=consent.pk, token_version=consent.token_version, revoked_at__isnull=True
    )
    try:
        granted = _asked(wanted, refresh_token)
    except ContextOSError as fault:
        mine.update(renewing_until=None)
        if fault.code != "credential.grant_refused":
            raise
        lose_consent(consent_id=consent.pk)
        raise _needed(wanted.row, wanted.ask) from fault
    sealed = sealed_tokens(consent, granted, refresh_token=refresh_token)
    mine.update(sealed_tokens=sealed, token_version=F("token_version") + 1, renewing_until=None)
    return granted.as_token()


def _asked(wanted: Wanted, refresh_token: str) -> Granted:
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token, **wanted.aim}
    return token_with_either_secret(
        wanted.row,
        form,
        scopes=wanted.ask.scopes,
        acceptable=wanted.ask.acceptable,
        patience=wanted.patience,
    )
