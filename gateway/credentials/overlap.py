"""While a rotation is young: the new secret first, the one before where that is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import structlog

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from gateway.credentials.keeping import open_previous, open_secret
from gateway.credentials.services import note_fallback
from gateway.models import AdapterCredential

log = structlog.get_logger(__name__)
Result = TypeVar("Result")


def with_either_secret(row: AdapterCredential, use: Callable[[str], Result]) -> Result:
    """Use the secret; only a server that does not know it yet gets to see the one before."""
    try:
        return use(open_secret(row))
    except ContextOSError as fault:
        previous = open_previous(row, utcnow())
        if fault.code != "credential.client_refused" or previous is None:
            raise
    result = use(previous)
    note_fallback(row)
    log.warning("the secret before was used", credential=row.ref)
    return result
