"""The pages that packs, policy bundles and gates share: one version, its tabs, its document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from contextos.adminkit.display import short_hash
from contextos.core.errors import ContextOSError
from contextos.review.document_text import document_lines
from contextos.review.document_versions import DocumentVersion
from contextos.review.draft_pages import DraftPages
from contextos.review.labels import state_badge
from contextos.review.signed_documents import document_of
from contextos.review.timeline import timeline_of
from contextos.review.version_pages import Tab, finding_groups, finding_row, signature_status

_PAGES = ("change", "edit", "submit", "review", "publish", "retire", "download")


class DocumentVersionAdmin(DraftPages):
    """Version page, review and drafts of one kind; concrete classes show what is in a document."""

    page_template: str

    # --- what concrete classes add ------------------------------------------------------------
    def tabs(self, version: Any) -> Sequence[Tab]:
        """In their order; the first is shown where none is asked for."""
        raise LookupError(f"{type(self).__name__} says no tabs")

    def document_context(
        self, request: HttpRequest, version: Any, tab: str, document: dict[str, Any]
    ) -> dict[str, Any]:
        """What a tab of its own needs of a document that can be read."""
        return {}

    # --- the list -----------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the envelopes, which hold whole documents."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.select_related("author").defer("envelope")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Adding means writing a draft."""
        return self.allows(request, "add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page for new drafts asks for the permission itself."""
        return HttpResponseRedirect(reverse(f"admin:{self.stem}_new"))

    # --- the page of one version --------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Pages of drafts and the download before the shared ones."""
        view = self.admin_site.admin_view(self.download_view)
        download = path("<path:object_id>/document.json", view, name=f"{self.stem}_download")
        return [*self.draft_urls(), download, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Everything about one version, one tab at a time."""
        version = self.version_or_404(request, object_id)
        tabs = self.tabs(version)
        wanted = request.GET.get("tab", "")
        chosen = wanted if wanted in {tab.key for tab in tabs} else tabs[0].key
        context = {
            **self.page_frame(request, version, str(version)),
            **self.header_context(request, version),
            "tabs": tabs,
            "tab": chosen,
            **self.tab_context(request, version, chosen),
        }
        return TemplateResponse(request, self.page_template, context)

    def tab_context(self, request: HttpRequest, version: Any, tab: str) -> dict[str, Any]:
        """What the chosen tab needs; only that is computed."""
        if tab == "findings":
            return {"groups": finding_groups(version.findings)}
        if tab == "timeline":
            return {"moments": timeline_of(version.tenant_id, self.kind.name, [version.pk])}
        if tab == "reviews":
            return {"entries": self.thread(version)}
        try:
            document = document_of(version)
        except ContextOSError as refusal:
            return {"tab_fault": f"{refusal.message} {refusal.remediation}"}
        if tab == "document":
            return {"lines": document_lines(document)}
        return self.document_context(request, version, tab, document)

    def header_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """The head of a version's pages: badges, buttons, signature."""
        return {
            "state": state_badge(version.state),
            "digest": short_hash(version.digest),
            "signature": signature_status(version),
            "buttons": self.may_press(request, version),
            "standing": self.standing(request, version),
            "may_edit": version.is_editable and self.allows(request, "change", version),
            "may_start_new": self.allows(request, "add"),
            "may_comment": self.may_comment(request, version),
            "comment_url": self.address(version, "comment"),
            "urls": {page: self.address(version, page) for page in _PAGES},
            "new_url": reverse(f"admin:{self.stem}_new"),
        }

    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """The head, and the warnings to tick."""
        warned = [item for item in version.findings if item["severity"] == "warn"]
        ticks = [{**finding_row(item), "tick_id": item["id"]} for item in warned]
        return {**self.header_context(request, version), "warnings": ticks}

    def download_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The document exactly as it is hashed and signed."""
        version: DocumentVersion = self.version_or_404(request, object_id)
        name = f"{version.document_id}-{version.version}"
        return self.document_file(request, version, document_of, name)
