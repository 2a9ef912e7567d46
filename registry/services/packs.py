"""Context Packs: drafted, reviewed, signed, published, retired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextos.core.events import Actor
from contextos.core.signing import KeyPurpose
from contextos.identity.models import User
from contextos.review import documents
from contextos.review import services as review
from contextos.review.documents import DocumentKind
from contextos.review.kinds import ReviewKind
from contextos.review.states import VersionState
from registry.models import ContextPackVersion, PackReview
from registry.pack_findings import examine_pack, with_exact_adapters
from registry.packs import parse_pack
from registry.roles import REVIEWERS
from registry.services.reviewed import RegistryLifecycle


def create_draft(
    *,
    tenant_id: str,
    document: Mapping[str, Any],
    author: User,
    actor: Actor,
    document_id: str | None = None,
) -> ContextPackVersion:
    """A new draft of a pack; permissions are stored with the exact ids of their adapters."""
    return documents.create_draft(
        PACK_DOCUMENTS,
        tenant_id=tenant_id,
        document=document,
        author=author,
        actor=actor,
        document_id=document_id,
    )


def replace_draft(
    *,
    version_id: str,
    document: Mapping[str, Any],
    editor: User,
    actor: Actor,
    expected_digest: str | None = None,
) -> ContextPackVersion:
    """Write on a draft of a pack."""
    return documents.replace_draft(
        PACK_DOCUMENTS,
        version_id=version_id,
        document=document,
        editor=editor,
        actor=actor,
        expected_digest=expected_digest,
    )


def _columns(document: dict[str, Any]) -> dict[str, Any]:
    intents = document.get("intents")
    layer = document.get("tooling_layer")
    permissions = layer.get("permissions") if isinstance(layer, dict) else None
    return {
        "intents": intents if isinstance(intents, list) else [],
        "permission_count": len(permissions) if isinstance(permissions, list) else 0,
    }


def _at_submission(version: ContextPackVersion) -> dict[str, Any]:
    found = examine_pack(version.tenant_id, documents.stored_document(version))
    return documents.findings_columns(found)


def _on_publish(version: ContextPackVersion, actor: Actor) -> None:
    parse_pack(documents.stored_document(version))
    current = ContextPackVersion.objects.filter(
        tenant_id=version.tenant_id, pack_id=version.pack_id, state=VersionState.PUBLISHED
    ).exclude(pk=version.pk)
    for predecessor in current:
        review.deprecate(
            CONTEXT_PACKS,
            version_id=predecessor.pk,
            actor=actor,
            successor=version.version_id,
        )


def _nothing(version: ContextPackVersion, actor: Actor) -> None:
    """The index of a pack is its own row; nothing else has to move."""


PACK_DOCUMENTS: DocumentKind[ContextPackVersion] = DocumentKind(
    name="context_pack",
    model=ContextPackVersion,
    id_prefix="pack",
    settle=with_exact_adapters,
    columns=_columns,
    examine=examine_pack,
)
CONTEXT_PACKS: ReviewKind[ContextPackVersion] = ReviewKind(
    name="context_pack",
    version_model=ContextPackVersion,
    entry_model=PackReview,
    payload_type=ContextPackVersion.payload_type,
    key_purpose=KeyPurpose.MANIFESTS,
    reviewer_roles=REVIEWERS,
    document=documents.stored_bytes,
    reviewers_needed=lambda version: 1,
    obstacles=lambda version: documents.obstacles_of(PACK_DOCUMENTS, version),
    warnings=documents.warnings_of,
    at_submission=_at_submission,
    on_publish=_on_publish,
    on_signed=_nothing,
    on_retire=_nothing,
    describe=documents.describe,
)
PACK_LIFECYCLE = RegistryLifecycle(CONTEXT_PACKS)
