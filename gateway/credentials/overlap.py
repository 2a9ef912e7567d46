"""Asking for a token while a rotation is young: the new secret first, then the one before."""

from __future__ import annotations

import time
from collections.abc import Mapping

import structlog

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from gateway.credentials.endpoint import DEADLINE, Granted, request_token
from gateway.credentials.keeping import open_previous, open_secret
from gateway.credentials.services import note_fallback
from gateway.models import AdapterCredential

log = structlog.get_logger(__name__)


def token_with_either_secret(
    row: AdapterCredential,
    form: Mapping[str, str],
    *,
    scopes: tuple[str, ...],
    acceptable: frozenset[str],
    patience: float = DEADLINE,
) -> Granted:
    """Only a server that does not know the secret yet gets to see the one before, and both answers
    together take no longer than one may."""
    until = time.monotonic() + min(patience, DEADLINE)

    def asked_with(secret: str) -> Granted:
        left = until - time.monotonic()
        return request_token(
            row, form, secret=secret, scopes=scopes, acceptable=acceptable, patience=left
        )

    try:
        return asked_with(open_secret(row))
    except ContextOSError as fault:
        previous = open_previous(row, utcnow())
        if fault.code != "credential.client_refused" or previous is None:
            raise
    granted = asked_with(previous)
    note_fallback(row)
    log.warning("the secret before was used", credential=row.ref)
    return granted
