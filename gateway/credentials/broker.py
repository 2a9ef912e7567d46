"""Finds the credential of an attempt and turns it into what the far side is shown (C7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from django.db.models import QuerySet

from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.fixed_query import FixedQuery
from gateway.connectors.base import Credential
from gateway.consents.tokens import Wanted, consent_for, consented_token
from gateway.credentials.certificates import read_certificate
from gateway.credentials.endpoint import DEADLINE
from gateway.credentials.keeping import open_previous, open_secret
from gateway.credentials.overlap import token_with_either_secret
from gateway.credentials.services import note_fallback
from gateway.credentials.shape import KINDS_OF_AUTH
from gateway.credentials.signed import (
    WORKLOAD_LIFETIME,
    actor_token,
    subject_token,
    workload_token,
)
from gateway.credentials.terms import Ask
from gateway.credentials.tokens import AccessToken, TokenKey, fresh_until, token_cache
from gateway.models import AdapterCredential, CredentialKind

log = structlog.get_logger(__name__)
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_JWT = "urn:ietf:params:oauth:token-type:jwt"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"


def credential_for(ask: Ask) -> Credential:
    """What to show now: of the tenant's credentials that fit, the narrowest."""
    row = row_for(ask)
    if row.kind in _FETCHERS:
        return _with_token(row, ask, refused=None)
    return _with_secret(row, ask, open_secret(row))


def credential_again(ask: Ask, refused: Credential) -> Credential | None:
    """After the far side said no: a token fetched anew, or the secret before; None if that's all.

    What was shown before is never shown twice.
    """
    row = row_for(ask)
    if row.kind in _FETCHERS:
        shown = refused.headers.get("Authorization", "").removeprefix("Bearer ")
        token_cache().forget(_key(row, ask), shown)
        again = _with_token(row, ask, refused=shown)
    else:
        previous = open_previous(row, utcnow())
        if previous is None:
            return None
        again = _with_secret(row, ask, previous)
        note_fallback(row)
        log.warning("the secret before was used", credential=row.ref)
    return None if again == refused else again


def row_for(ask: Ask) -> AdapterCredential:
    """The row, or a coded error; a capability's own goes before that of its adapter."""
    row = _NARROWEST.model(
        tenant_id=ask.tenant_id,
        environment=ask.environment,
        adapter_id=ask.adapter_id,
        capability_id=ask.capability_id,
    )
    if row is None:
        raise coded_error("credential.missing", data={"environment": ask.environment})
    if row.kind not in KINDS_OF_AUTH.get(ask.auth_type, ()):
        raise coded_error(
            "credential.kind_mismatch", data={"asked": ask.auth_type, "kept": str(row.kind)}
        )
    return row


def _fitting(
    tenant_id: str, environment: str, adapter_id: str, capability_id: str
) -> QuerySet[AdapterCredential]:
    rows = AdapterCredential.objects.filter(
        tenant_id=tenant_id,
        environment=environment,
        adapter_id=adapter_id,
        capability_id__in=(capability_id, ""),
        revoked_at__isnull=True,
    )
    return rows.order_by("-capability_id")[:1]


_NARROWEST = FixedQuery(_fitting, "tenant_id", "environment", "adapter_id", "capability_id")


# --- secrets shown as they are -------------------------------------------------------------------
def _with_secret(row: AdapterCredential, ask: Ask, secret: str) -> Credential:
    certificate, headers = None, {}
    if row.kind == CredentialKind.MTLS:
        read = read_certificate(secret)
        certificate = (read.chain, read.key)
    elif row.kind == CredentialKind.API_KEY:
        headers = {row.header_name: secret}
    else:
        headers = {"Authorization": f"Bearer {secret}"}
    return Credential(
        ref=row.ref,
        scopes_requested=ask.scopes,
        audience=ask.audience,
        headers=headers,
        client_certificate=certificate,
        authority=row.authority or None,
    )


# --- tokens --------------------------------------------------------------------------------------
def _with_token(row: AdapterCredential, ask: Ask, *, refused: str | None) -> Credential:
    key = _key(row, ask)
    patience = min(DEADLINE, max(0.1, (ask.deadline_at - utcnow()).total_seconds()))
    fetch = _FETCHERS[row.kind]
    try:
        token = token_cache().get(
            key, lambda: fetch(_Fetch(row, ask, refused, patience)), patience=patience
        )
    except TimeoutError:
        raise coded_error("credential.endpoint_unreachable") from None
    return Credential(
        ref="/".join((row.ref, *key.subject)),
        scopes_requested=ask.scopes,
        scopes_granted=token.scopes,
        audience=ask.audience,
        headers={"Authorization": f"Bearer {token.value}"},
        authority=row.authority or None,
    )


def _key(row: AdapterCredential, ask: Ask) -> TokenKey:
    parties = tuple(name for name in (ask.agent_id, ask.user_id) if name)
    subject = {
        CredentialKind.CLIENT_CREDENTIALS: (),
        CredentialKind.AUTHORIZATION_CODE: (ask.user_id,),
    }.get(CredentialKind(row.kind), parties)
    by_consent = row.kind == CredentialKind.AUTHORIZATION_CODE
    return TokenKey(
        credential_id=row.credential_id,
        version=row.version,
        resource=ask.resource,
        audience=ask.audience,
        scopes=ask.scopes,
        subject=subject,
        consent_id=consent_for(row, ask).consent_id if by_consent else "",
    )


@dataclass(frozen=True, slots=True)
class _Fetch:
    """One fetch: for which row, for what, and which token is known to be no good."""

    row: AdapterCredential
    ask: Ask
    refused: str | None
    patience: float


def _from_client(fetch: _Fetch) -> AccessToken:
    return _endpoint_token(fetch, {"grant_type": "client_credentials", **_aim(fetch.ask)})


def _from_exchange(fetch: _Fetch) -> AccessToken:
    """On behalf of the person, with the agent as actor; both said by us, nothing of the caller."""
    ask, at = fetch.ask, fetch.row.issuer or fetch.row.token_endpoint
    form = {
        "grant_type": _EXCHANGE,
        "requested_token_type": _ACCESS,
        "subject_token": subject_token(ask, audience=at),
        "subject_token_type": _JWT,
        **_aim(ask),
    }
    if ask.user_id:
        form |= {"actor_token": actor_token(ask, audience=at), "actor_token_type": _JWT}
    return _endpoint_token(fetch, form)


def _from_consent(fetch: _Fetch) -> AccessToken:
    row, ask = fetch.row, fetch.ask
    return consented_token(
        Wanted(row=row, ask=ask, aim=_aim(ask), refused=fetch.refused, patience=fetch.patience)
    )


def _signed_here(fetch: _Fetch) -> AccessToken:
    lifetime = WORKLOAD_LIFETIME.total_seconds()
    return AccessToken(
        value=workload_token(fetch.ask),
        scopes=fetch.ask.scopes,
        ends_at=fresh_until(lifetime, asked_at=time.monotonic()),
    )


def _endpoint_token(fetch: _Fetch, form: Mapping[str, str]) -> AccessToken:
    granted = token_with_either_secret(
        fetch.row,
        form,
        scopes=fetch.ask.scopes,
        acceptable=fetch.ask.acceptable,
        patience=fetch.patience,
    )
    return granted.as_token()


def _aim(ask: Ask) -> dict[str, str]:
    """RFC 8707 and RFC 8693: for whom the token is meant."""
    aim = {"resource": ask.resource} if ask.resource else {}
    return aim | ({"audience": ask.audiences[0]} if ask.audiences else {})


_FETCHERS: Mapping[str, Callable[[_Fetch], AccessToken]] = {
    CredentialKind.CLIENT_CREDENTIALS: _from_client,
    CredentialKind.TOKEN_EXCHANGE: _from_exchange,
    CredentialKind.AUTHORIZATION_CODE: _from_consent,
    CredentialKind.WORKLOAD_JWT: _signed_here,
}
