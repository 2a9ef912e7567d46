"""The content-addressed store: what was reviewed and signed can be read back byte for byte."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from audit.models import Artefact
from contextos.core.canonical import digest_bytes
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error


def store_artefact(*, tenant_id: str, media_type: str, content: bytes) -> str:
    """Keep a document and return its digest; keeping it twice changes nothing."""
    digest = digest_bytes(content)
    if _find(tenant_id, digest) is not None:
        return digest
    try:
        with transaction.atomic():
            Artefact.objects.create(
                tenant_id=tenant_id,
                digest=digest,
                media_type=media_type,
                content=content,
                created_at=utcnow(),
            )
    except IntegrityError:
        if _find(tenant_id, digest) is None:  # not the same document stored a moment earlier
            raise
    return digest


def read_artefact(*, tenant_id: str, digest: str) -> bytes:
    """The document, checked against its digest: a changed byte is never served."""
    found = _find(tenant_id, digest)
    if found is None:
        raise coded_error("artefact.missing", data={"digest": digest})
    content = bytes(found.content)
    if digest_bytes(content) != digest:
        raise coded_error("artefact.tampered", data={"digest": digest})
    return content


def _find(tenant_id: str, digest: str) -> Artefact | None:
    return Artefact.objects.filter(tenant_id=tenant_id, digest=digest).first()
