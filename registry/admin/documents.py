"""What the admin pages of packs and policy bundles have in common."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.review.document_admin import DocumentVersionAdmin
from contextos.review.document_versions import DocumentVersion
from contextos.review.states import Verdict
from contextos.review.version_pages import Tab
from registry.admin.document_comparison import compare_documents
from registry.admin.filters import DocumentStateFilter
from registry.admin.versions import count_per_version
from registry.labels import findings_summary


class DocumentAdmin(DocumentVersionAdmin):
    """Lists, version page, review and drafts of one kind."""

    page_template = "registry/document.html"
    review_template = "registry/document_review.html"
    edit_template = "registry/document_edit.html"
    contents_template = ""  # what the overview shows of the document
    contents_title = ""
    reviews_of: Any  # the model of what reviewers said
    list_filter = [DocumentStateFilter]
    list_select_related = ["author"]
    ordering = ["-created_at", "-version_id"]

    def contents(self, document: dict[str, Any]) -> dict[str, Any]:
        """What the overview needs of a document that can be read."""
        return {}

    # --- the list -----------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With how many said yes."""
        rows: QuerySet[Any] = super().get_queryset(request)
        yes = self.reviews_of.objects.filter(verdict=Verdict.APPROVE)
        found: QuerySet[Any] = rows.annotate(approvals=count_per_version(yes))
        return found

    @display(description="Version")
    def shown_version(self, version: DocumentVersion) -> str:
        """Id and number."""
        return version.ref

    @display(description="Findings")
    def found(self, version: DocumentVersion) -> SafeString:
        """What stops it or wants a tick."""
        return findings_summary(version.block_count, version.warn_count)

    # --- the page of one version --------------------------------------------------------------
    def tabs(self, version: DocumentVersion) -> list[Tab]:
        """The document itself first."""
        reviews = self.reviews_of.objects.filter(version=version).count()
        return [
            Tab("overview", self.contents_title),
            Tab("findings", "Findings", len(version.findings)),
            Tab("document", "Document"),
            Tab("timeline", "Timeline"),
            Tab("reviews", "Reviews", reviews),
        ]

    def document_context(
        self, request: HttpRequest, version: Any, tab: str, document: dict[str, Any]
    ) -> dict[str, Any]:
        """The overview."""
        return {"contents_template": self.contents_template, **self.contents(document)}

    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """With what changed since the published version."""
        frame = super().review_context(request, version)
        return {**frame, "comparison": compare_documents(version)}
