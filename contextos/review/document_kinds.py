"""One kind of reviewed document and its part in the shared review machinery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from contextos.core.events import Actor
from contextos.core.signing import KeyPurpose
from contextos.review import documents, services
from contextos.review.document_versions import DocumentVersion
from contextos.review.documents import DocumentKind
from contextos.review.kinds import ReviewKind
from contextos.review.models import ReviewEntry
from contextos.review.states import VersionState

D = TypeVar("D", bound=DocumentVersion)
Hook = Callable[[D, Actor], None]


def _nothing(version: DocumentVersion, actor: Actor) -> None:
    """Nothing else has to move: the row of a version is its own index."""


def review_kind(
    kind: DocumentKind[D],
    *,
    entry_model: type[ReviewEntry],
    reviewer_roles: frozenset[str],
    on_publish: Hook[D],
    on_retire: Hook[D] = _nothing,
) -> ReviewKind[D]:
    """The kind as reviewers meet it: one of them, who ticks what was found at submission."""

    def at_submission(version: D) -> dict[str, Any]:
        found = kind.examine(version.tenant_id, documents.stored_document(version))
        return documents.findings_columns(found)

    return ReviewKind(
        name=kind.name,
        version_model=kind.model,
        entry_model=entry_model,
        payload_type=kind.model.payload_type,
        key_purpose=KeyPurpose.MANIFESTS,
        reviewer_roles=reviewer_roles,
        document=documents.stored_bytes,
        reviewers_needed=lambda version: 1,
        obstacles=lambda version: documents.obstacles_of(kind, version),
        warnings=documents.warnings_of,
        at_submission=at_submission,
        on_publish=on_publish,
        on_signed=_nothing,
        on_retire=on_retire,
        describe=documents.describe,
    )


def make_way(kind: ReviewKind[D], version: D, actor: Actor, **place: Any) -> None:
    """Deprecate what stands in the place that the version is to take."""
    current = kind.version_model._default_manager.filter(
        tenant_id=version.tenant_id,
        state=VersionState.PUBLISHED,
        **{version.id_column: version.document_id},
        **place,
    ).exclude(pk=version.pk)
    for predecessor in current:
        services.deprecate(
            kind, version_id=predecessor.pk, actor=actor, successor=version.version_id
        )
