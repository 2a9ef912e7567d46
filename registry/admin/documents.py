"""What the admin pages of packs and policy bundles have in common."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.display import short_hash
from contextos.core.errors import ContextOSError
from contextos.review.admin import ReviewedVersionAdmin
from contextos.review.document_versions import DocumentVersion
from contextos.review.forms import CommentForm
from contextos.review.labels import state_badge
from contextos.review.signed_documents import document_of, open_document
from contextos.review.states import Verdict
from contextos.review.timeline import timeline_of
from registry.admin.document_comparison import compare_documents
from registry.admin.document_drafts import DocumentDraftPages
from registry.admin.filters import DocumentStateFilter
from registry.admin.manifest_text import anchor_of, manifest_lines
from registry.admin.version_page import SignatureStatus, Tab
from registry.admin.versions import count_per_version
from registry.labels import findings_summary

_GROUPS = (
    ("block", "Blocking", "They stop the submission. Fix each one and save."),
    ("warn", "Warnings", "A reviewer has to tick each of them to approve."),
)


class DocumentAdmin(DocumentDraftPages, ReviewedVersionAdmin):
    """Lists, version page, review and drafts of one kind."""

    review_template = "registry/document_review.html"
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
        """Without the envelopes, which hold whole documents."""
        rows: QuerySet[Any] = super().get_queryset(request)
        yes = self.reviews_of.objects.filter(verdict=Verdict.APPROVE)
        found: QuerySet[Any] = rows.select_related("author").annotate(
            approvals=count_per_version(yes)
        )
        return found.defer("envelope")

    @display(description="Version")
    def shown_version(self, version: DocumentVersion) -> str:
        """Id and number."""
        return version.ref

    @display(description="Findings")
    def found(self, version: DocumentVersion) -> SafeString:
        """What stops it or wants a tick."""
        return findings_summary(version.block_count, version.warn_count)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Adding means writing a draft."""
        return self.allows(request, "add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page for new drafts asks for the permission itself."""
        return HttpResponseRedirect(reverse(f"admin:registry_{self.opts.model_name}_new"))

    # --- the page of one version --------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Pages of drafts and the download before the shared ones."""
        guarded = self.admin_site.admin_view
        return [
            *self.draft_urls(),
            path(
                "<path:object_id>/document.json",
                guarded(self.download_view),
                name=f"registry_{self.opts.model_name}_download",
            ),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Everything about one version, one tab at a time."""
        version = self.version_or_404(request, object_id)
        tabs = self._tabs(version)
        wanted = request.GET.get("tab", "overview")
        chosen = wanted if wanted in {tab.key for tab in tabs} else "overview"
        context = {
            **self.page_frame(request, version, str(version)),
            **self.header_context(request, version),
            "tabs": tabs,
            "tab": chosen,
            **self._tab_context(version, chosen),
        }
        return TemplateResponse(request, "registry/document.html", context)

    def _tabs(self, version: DocumentVersion) -> list[Tab]:
        reviews = self.reviews_of.objects.filter(version=version).count()
        return [
            Tab("overview", self.contents_title),
            Tab("findings", "Findings", len(version.findings)),
            Tab("document", "Document"),
            Tab("timeline", "Timeline"),
            Tab("reviews", "Reviews", reviews),
        ]

    def _tab_context(self, version: DocumentVersion, tab: str) -> dict[str, Any]:
        if tab == "findings":
            return {"groups": _finding_groups(version)}
        if tab == "timeline":
            return {"moments": timeline_of(version.tenant_id, self.kind.name, [version.pk])}
        if tab == "reviews":
            return {"entries": self.thread(version)}
        try:
            document = document_of(version)
        except ContextOSError as refusal:
            return {"tab_fault": f"{refusal.message} {refusal.remediation}"}
        if tab == "document":
            return {"lines": manifest_lines(document)}
        return {"contents_template": self.contents_template, **self.contents(document)}

    def header_context(self, request: HttpRequest, version: DocumentVersion) -> dict[str, Any]:
        """The head of a version's pages: badges, buttons, signature."""
        return {
            "state": state_badge(version.state),
            "digest": short_hash(version.digest),
            "signature": _signature(version),
            "buttons": self.may_press(request, version),
            "standing": self.standing(request, version),
            "may_edit": version.is_editable and self.allows(request, "change", version),
            "may_start_new": self.allows(request, "add"),
            "may_comment": self.may_comment(request, version),
            "comment_form": CommentForm(),
            "comment_url": self.address(version, "comment"),
            "urls": {
                page: self.address(version, page)
                for page in ("edit", "submit", "review", "publish", "retire", "download")
            },
            "new_url": reverse(f"admin:registry_{self.opts.model_name}_new"),
        }

    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """What changed since the published version, and the warnings."""
        warned = [item for item in version.findings if item["severity"] == "warn"]
        return {
            **self.header_context(request, version),
            "comparison": compare_documents(version),
            "warnings": [{**item, "tick_id": item["id"]} for item in warned],
        }

    def download_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The document exactly as it is hashed and signed."""
        version = self.version_or_404(request, object_id)
        name = f"{version.document_id}-{version.version}"
        return self.document_file(request, version, document_of, name)


def _finding_groups(version: DocumentVersion) -> list[tuple[str, str, str, list[dict[str, Any]]]]:
    return [
        (
            key,
            title,
            hint,
            [
                {**item, "anchor": anchor_of(item["pointer"])}
                for item in version.findings
                if item["severity"] == key
            ],
        )
        for key, title, hint in _GROUPS
    ]


def _signature(version: DocumentVersion) -> SignatureStatus:
    """Checked anew for every page: a stored 'verified' would prove nothing."""
    if version.envelope is None:
        return SignatureStatus("not signed yet: publication signs it", "neutral")
    signed = ", ".join(str(item.get("keyid", "")) for item in version.envelope["signatures"])
    opened = open_document(version)
    if opened.signature_valid is None:  # retired: nothing runs on it any more
        return SignatureStatus("signed, not in use any more", "neutral", signed)
    if opened.problem is not None:
        return SignatureStatus(f"signature refused: {opened.problem}", "danger", signed)
    return SignatureStatus("signature verified now", "success", signed)
