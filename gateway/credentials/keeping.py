"""Secrets at rest: encrypted for one row and one version, opened only to be shown outside."""

from __future__ import annotations

from datetime import datetime

from contextos.core.errors import ContextOSError, coded_error
from contextos.identity.field_encryption import (
    decrypt_field,
    encrypt_field,
    field_fingerprint,
)
from gateway.models import AdapterCredential, Consent, ConsentRequest


def seal_secret(row: AdapterCredential, secret: str) -> None:
    """Put a secret into a row that has its id and version already."""
    context = secret_context(row, row.version)
    row.sealed_secret = encrypt_field(secret.encode(), context=context)
    row.fingerprint = shown_fingerprint(row, secret)


def open_secret(row: AdapterCredential) -> str:
    """The secret in use; a kind without one has the empty secret."""
    if row.sealed_secret is None:
        return ""
    return _opened(bytes(row.sealed_secret), secret_context(row, row.version))


def open_previous(row: AdapterCredential, now: datetime) -> str | None:
    """The secret before, while it may still be used."""
    if row.sealed_previous is None or row.previous_until is None or now >= row.previous_until:
        return None
    return _opened(bytes(row.sealed_previous), secret_context(row, row.version - 1))


def shown_fingerprint(row: AdapterCredential, secret: str) -> str:
    """What people may see of it; the same secret elsewhere has another fingerprint."""
    return field_fingerprint(secret.encode(), context=f"gateway.credential:{row.tenant_id}")


def secret_context(row: AdapterCredential, version: int) -> str:
    """Where a ciphertext belongs; moved to another row or version it does not open."""
    return f"gateway.credential.secret:{row.tenant_id}:{row.credential_id}:{version}"


def tokens_context(row: Consent) -> str:
    """The same for the tokens of a consent."""
    return f"gateway.consent.tokens:{row.tenant_id}:{row.consent_id}"


def verifier_context(row: ConsentRequest) -> str:
    """The same for the PKCE verifier of a trip."""
    return f"gateway.consent_request.verifier:{row.tenant_id}:{row.request_id}"


def seal_text(text: str, context: str) -> bytes:
    """Encrypt any short text for one place."""
    return encrypt_field(text.encode(), context=context)


def open_text(sealed: bytes, context: str) -> str:
    """Open what seal_text made."""
    return _opened(bytes(sealed), context)


def _opened(sealed: bytes, context: str) -> str:
    try:
        return decrypt_field(sealed, context=context).decode()
    except ContextOSError as fault:
        raise coded_error("credential.unreadable") from fault
