"""The encrypted columns of the gateway."""

from typing import Any

from contextos.identity.resealing import SealedColumn
from gateway import alert_receivers
from gateway.credentials.keeping import (
    secret_context,
    shown_fingerprint,
    tokens_context,
    verifier_context,
)
from gateway.models import (
    AdapterCredential,
    AlertReceiver,
    Consent,
    ConsentRequest,
    CredentialKind,
    SiemStream,
)
from gateway.siem.sending import secret_context as stream_context


def _marked(row: AdapterCredential, plain: bytes) -> dict[str, Any]:
    """Fingerprints are keyed, too; a certificate's is its own."""
    if row.kind == CredentialKind.MTLS:
        return {}
    return {"fingerprint": shown_fingerprint(row, plain.decode())}


def _marked_before(row: AdapterCredential, plain: bytes) -> dict[str, Any]:
    return {f"previous_{name}": value for name, value in _marked(row, plain).items()}


SEALED = (
    SealedColumn(
        AdapterCredential, "sealed_secret", lambda row: secret_context(row, row.version), _marked
    ),
    SealedColumn(
        AdapterCredential,
        "sealed_previous",
        lambda row: secret_context(row, row.version - 1),
        _marked_before,
    ),
    SealedColumn(Consent, "sealed_tokens", tokens_context),
    SealedColumn(ConsentRequest, "sealed_verifier", verifier_context),
    SealedColumn(AlertReceiver, "sealed_secret", alert_receivers.secret_context),
    SealedColumn(SiemStream, "sealed_secret", lambda row: stream_context(row, "secret")),
    SealedColumn(
        SiemStream, "sealed_authorization", lambda row: stream_context(row, "authorization")
    ),
)
