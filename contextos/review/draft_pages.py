"""Pages on which a reviewed document is written: paste or load, check with places, save."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.json_faults import JsonFault, fault_of
from contextos.core.text import single_line
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.review.admin import ReviewedVersionAdmin
from contextos.review.document_text import pretty
from contextos.review.document_versions import DocumentVersion
from contextos.review.documents import DocumentKind
from contextos.review.draft_checks import (
    check_report,
    count_by_severity,
    finding_rows,
    posted_text,
)
from contextos.review.findings import Finding
from contextos.review.semver import next_version
from contextos.review.signed_documents import MAX_DOCUMENT_BYTES, document_of


@dataclass(slots=True)
class Editing:
    """A draft in somebody's hands: the text as typed, the document in it, and what is wrong."""

    text: str
    document: dict[str, Any] | None = None
    fault: JsonFault | None = None
    refusal: ContextOSError | None = None
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of_text(cls, text: str) -> Self:
        """What can't be read stays as it was typed, with the reason and its place."""
        try:
            document = strict_json.loads_object(text, max_bytes=MAX_DOCUMENT_BYTES)
        except ContextOSError as refusal:
            return cls(text, fault=fault_of(text, refusal))
        return cls(text, dict(document))

    @classmethod
    def of_document(cls, document: dict[str, Any]) -> Self:
        """A document set out for editing."""
        return cls(pretty(document), document)

    def rows(self) -> list[dict[str, str]]:
        """The findings, each with the line on which it shows."""
        return finding_rows(self.findings, self.text)

    def counts(self) -> dict[str, int]:
        """How many findings of each severity there are."""
        return count_by_severity(self.findings)


class Drafting(Protocol):
    """Who keeps drafts; a services module has this shape."""

    def create_draft(
        self, *, tenant_id: str, document: dict[str, Any], author: User, actor: Any
    ) -> Any: ...

    def replace_draft(
        self,
        *,
        version_id: str,
        document: dict[str, Any],
        editor: User,
        actor: Any,
        expected_digest: str | None,
    ) -> Any: ...


class DraftPages(ReviewedVersionAdmin):
    """New, check and edit, for one kind of document."""

    document_kind: DocumentKind[Any]
    document_services: Any  # a `Drafting`
    example: Path  # what a new document starts from
    noun = "document"
    edit_template: str

    # --- what concrete classes may add --------------------------------------------------------
    def starting_point(self) -> Editing:
        """What a page for a new document begins with."""
        return Editing.of_text(self.example.read_text(encoding="utf-8"))

    def editing_of(self, document: dict[str, Any]) -> Editing:
        """A stored document in an editor's hands."""
        return Editing.of_document(document)

    def posted(self, request: HttpRequest) -> Editing:
        """What the page sends: a file or a text."""
        return Editing.of_text(posted_text(request, limit=MAX_DOCUMENT_BYTES))

    def reworked(self, editing: Editing, action: str) -> Editing:
        """After a press on one of the page's own buttons."""
        return editing

    def finding_rows(self, editing: Editing) -> list[dict[str, str]]:
        """The findings as page and script show them."""
        return editing.rows()

    def editing_context(self, request: HttpRequest, editing: Editing) -> dict[str, Any]:
        """What the page of one kind shows besides."""
        return {}

    # --- addresses ----------------------------------------------------------------------------
    def draft_urls(self) -> list[URLPattern]:
        """New, check and edit."""
        guarded, stem = self.admin_site.admin_view, self.stem
        return [
            path("new/", guarded(self.new_view), name=f"{stem}_new"),
            path("check/", guarded(self.check_view), name=f"{stem}_check"),
            path("<path:object_id>/edit/", guarded(self.edit_view), name=f"{stem}_edit"),
        ]

    # --- pages --------------------------------------------------------------------------------
    def new_view(self, request: HttpRequest) -> HttpResponse:
        """A new document, or a new version of one; nothing is stored until saved."""
        if not self.allows(request, "add"):
            raise PermissionDenied
        if request.method == "POST":
            return self._work_on(request, None)
        source = request.GET.get("from")
        if source:
            return self._next_of(request, source)
        return self._checked_page(request, self.starting_point(), None)

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Write on a draft."""
        version = self.version_or_404(request, object_id)
        if not self.allows(request, "change", version):
            raise PermissionDenied
        if not version.is_editable:
            messages.error(request, "Only a draft can be edited. Start a new version from it.")
            return HttpResponseRedirect(self.address(version))
        if request.method == "POST":
            return self._work_on(request, version)
        try:
            document = document_of(version)
        except ContextOSError as refusal:
            return self.refused(request, version, refusal)
        return self._checked_page(request, self.editing_of(document), version)

    def check_view(self, request: HttpRequest) -> HttpResponse:
        """The findings of what is typed, for the script that shows them beside it."""
        if not self.allows(request, "add"):
            raise PermissionDenied
        if request.method != "POST":
            raise Http404
        editing = self.posted(request)
        self._examine(request, editing)
        rows = self.finding_rows(editing)
        return JsonResponse(check_report(rows, editing.counts(), editing.fault))

    # --- what the buttons do ------------------------------------------------------------------
    def _work_on(self, request: HttpRequest, version: DocumentVersion | None) -> HttpResponse:
        editing, action = self.posted(request), str(request.POST.get("action", "check"))
        if action != "save":
            editing = self.reworked(editing, action)
        elif editing.document is not None:
            try:
                stored = self._stored(request, editing.document, version)
            except ContextOSError as refusal:
                editing.refusal = refusal
            else:
                messages.success(request, _saved_words(stored))
                return HttpResponseRedirect(self.address(stored))
        self._examine(request, editing)
        return self._edit_page(request, editing, version, checked=True)

    def _stored(
        self, request: HttpRequest, document: dict[str, Any], version: DocumentVersion | None
    ) -> DocumentVersion:
        person, actor = cast(User, request.user), actor_of(request)
        services: Drafting = self.document_services
        if version is None:
            made: DocumentVersion = services.create_draft(
                tenant_id=acting_tenant_id(request), document=document, author=person, actor=actor
            )
            return made
        changed: DocumentVersion = services.replace_draft(
            version_id=version.pk,
            document=document,
            editor=person,
            actor=actor,
            expected_digest=request.POST.get("digest") or None,
        )
        return changed

    def _examine(self, request: HttpRequest, editing: Editing) -> None:
        if editing.document is not None:
            tenant_id = acting_tenant_id(request)
            editing.findings = self.document_kind.examine(tenant_id, editing.document)

    # --- drawing ------------------------------------------------------------------------------
    def _next_of(self, request: HttpRequest, version_id: str) -> HttpResponse:
        source = self.version_or_404(request, version_id)
        try:
            document = document_of(source)
        except ContextOSError as refusal:
            return self.refused(request, source, refusal)
        same = {"tenant_id": source.tenant_id, source.id_column: source.document_id}
        number = next_version(self.model.objects.filter(**same).values_list("version", flat=True))
        return self._checked_page(request, self.editing_of({**document, "version": number}), None)

    def _checked_page(
        self, request: HttpRequest, editing: Editing, version: DocumentVersion | None
    ) -> HttpResponse:
        self._examine(request, editing)
        return self._edit_page(request, editing, version)

    def _edit_page(
        self,
        request: HttpRequest,
        editing: Editing,
        version: DocumentVersion | None,
        *,
        checked: bool = False,
    ) -> HttpResponse:
        title = f"Edit {version}" if version else self._new_title(request, editing)
        back = self.address(version) if version else self.list_place()[0]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": version,
            "version": version,
            "title": title,
            "trail": [self.list_place(), ("", title)],
            "noun": self.noun,
            "editing": editing,
            "checked": checked,
            "rows": self.finding_rows(editing),
            "counts": editing.counts(),
            "refusal": editing.refusal,
            "check_url": reverse(f"admin:{self.stem}_check"),
            "back": back,
            "max_megabytes": MAX_DOCUMENT_BYTES // (1024 * 1024),
            **self.editing_context(request, editing),
        }
        refused = editing.fault or editing.refusal
        status = 422 if request.method == "POST" and refused else 200
        return TemplateResponse(request, self.edit_template, context, status=status)

    def _new_title(self, request: HttpRequest, editing: Editing) -> str:
        named = str((editing.document or {}).get(self.document_kind.id_member) or "")
        if request.GET.get("from") and named:
            return f"New version of {single_line(named, limit=80)}"
        return f"New {self.noun}"


def _saved_words(version: DocumentVersion) -> str:
    if not version.block_count:
        return "Draft saved. Nothing blocks its submission."
    if version.block_count == 1:
        return "Draft saved. One finding blocks its submission."
    return f"Draft saved. {version.block_count} findings block its submission."
