"""Reads packs and policy bundles; a signed one only after its signature was checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from audit.artefacts import read_artefact
from contextos.core import strict_json
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.signing import KeyPurpose
from contextos.review.document_versions import DocumentVersion
from contextos.review.models import ReviewedVersion
from contextos.review.signatures import open_signed, type_for_tenant
from contextos.review.states import SIGNED

V = TypeVar("V", bound=ReviewedVersion)

MAX_DOCUMENT_BYTES = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """A document if it can be believed, else the reason why not."""

    document: dict[str, Any] | None
    signature_valid: bool | None  # None: no signature is due in this state
    problem: str | None


def document_of(version: DocumentVersion) -> dict[str, Any]:
    """The document as it is stored, or as it was signed."""
    if version.state in SIGNED:
        return signed_document(version)
    return decoded(read_artefact(tenant_id=version.tenant_id, digest=version.digest))


def signed_document(version: DocumentVersion) -> dict[str, Any]:
    """The document inside the DSSE envelope, or a refusal: nothing unsigned is ever used."""
    content = open_signed(
        version.envelope,
        digest=version.digest,
        payload_type=type_for_tenant(version.payload_type, version.tenant_id),
        purpose=KeyPurpose.MANIFESTS,
    )
    document = decoded(content)
    if (document.get(version.id_column), document.get("version")) != (
        version.document_id,
        version.version,
    ):
        message = "The signed document is that of another version."
        raise coded_error("signature.invalid", message=message)
    return document


def open_document(version: DocumentVersion) -> OpenedDocument:
    """For pages and answers, which show a tampered version as tampered instead of failing."""
    return opened_by(document_of, version)


def opened_by(reader: Callable[[V], dict[str, Any]], version: V) -> OpenedDocument:
    """What a reader makes of a version, or its refusal in words."""
    signed = version.state in SIGNED
    try:
        document = reader(version)
    except ContextOSError as refusal:
        return OpenedDocument(None, False if signed else None, refusal.message)
    return OpenedDocument(document, True if signed else None, None)


def decoded(content: bytes) -> dict[str, Any]:
    """Strict JSON, with the bound of these documents."""
    return strict_json.loads_object(content, max_bytes=MAX_DOCUMENT_BYTES)
