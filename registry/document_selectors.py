"""Questions about packs and policy bundles; nothing here changes a row."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import OuterRef, Q, QuerySet, Subquery

from contextos.review.document_versions import DocumentVersion
from contextos.review.states import VersionState

D = TypeVar("D", bound=DocumentVersion)


def document_versions(model: type[D], tenant_id: str) -> QuerySet[D]:
    """A tenant's versions, each with its author."""
    return model._default_manager.filter(tenant_id=tenant_id).select_related("author")


def newest_versions(model: type[DocumentVersion], tenant_id: str) -> QuerySet[Any]:
    """One row a document: its newest version, with what is published as `active_*`."""
    same = {"tenant_id": tenant_id, model.id_column: OuterRef(model.id_column)}
    rows = model._default_manager.filter(**same)
    published = rows.filter(state=VersionState.PUBLISHED).order_by(*_deciding_first(model))
    return (
        document_versions(model, tenant_id)
        .filter(version_id=Subquery(rows.order_by("-version_id").values("version_id")[:1]))
        .annotate(
            active_version_id=Subquery(published.values("version_id")[:1]),
            active_version=Subquery(published.values("version")[:1]),
        )
    )


def _deciding_first(model: type[DocumentVersion]) -> tuple[str, ...]:
    has_shadow = any(column.name == "shadow" for column in model._meta.get_fields())
    return ("shadow", "version_id") if has_shadow else ("version_id",)


def find_document(model: type[D], tenant_id: str, document_id: str, name: str) -> D | None:
    """One version of a document, by its number or by its id."""
    rows = document_versions(model, tenant_id).filter(**{model.id_column: document_id})
    return rows.filter(Q(version=name) | Q(version_id=name)).first()


def find_by_ref(model: type[D], tenant_id: str, ref: str) -> D | None:
    """One version, by `id@version` or by its version id."""
    document_id, at, version = ref.rpartition("@")
    rows = document_versions(model, tenant_id)
    if not at:
        return rows.filter(version_id=ref).first()
    return rows.filter(**{model.id_column: document_id, "version": version}).first()


def published_predecessor(version: DocumentVersion) -> Any:
    """What is published of the same document and decides now; None = nothing, or it itself."""
    model = type(version)
    same = {"tenant_id": version.tenant_id, model.id_column: version.document_id}
    rows = model._default_manager.filter(state=VersionState.PUBLISHED, **same)
    return rows.exclude(pk=version.pk).order_by(*_deciding_first(model)).first()
