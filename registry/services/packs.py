"""Context Packs: drafted, reviewed, signed, published, retired."""

from __future__ import annotations

from functools import partial
from typing import Any

from contextos.core.events import Actor
from contextos.review import documents
from contextos.review.document_kinds import make_way, review_kind
from contextos.review.documents import DocumentKind
from contextos.review.kinds import ReviewKind
from registry.models import ContextPackVersion, PackReview
from registry.pack_findings import examine_pack, with_exact_adapters
from registry.packs import parse_pack
from registry.roles import REVIEWERS
from registry.services.reviewed import RegistryLifecycle


def _columns(document: dict[str, Any]) -> dict[str, Any]:
    intents = document.get("intents")
    layer = document.get("tooling_layer")
    permissions = layer.get("permissions") if isinstance(layer, dict) else None
    return {
        "intents": intents if isinstance(intents, list) else [],
        "permission_count": len(permissions) if isinstance(permissions, list) else 0,
    }


def _on_publish(version: ContextPackVersion, actor: Actor) -> None:
    parse_pack(documents.stored_document(version))
    make_way(CONTEXT_PACKS, version, actor)


PACK_DOCUMENTS: DocumentKind[ContextPackVersion] = DocumentKind(
    name="context_pack",
    model=ContextPackVersion,
    id_prefix="pack",
    settle=with_exact_adapters,
    columns=_columns,
    examine=examine_pack,
)
CONTEXT_PACKS: ReviewKind[ContextPackVersion] = review_kind(
    PACK_DOCUMENTS, entry_model=PackReview, reviewer_roles=REVIEWERS, on_publish=_on_publish
)
PACK_LIFECYCLE = RegistryLifecycle(CONTEXT_PACKS)
create_draft = partial(documents.create_draft, PACK_DOCUMENTS)
replace_draft = partial(documents.replace_draft, PACK_DOCUMENTS)
