"""Pages on which packs and policy bundles are written: paste, check with places, save."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.review.semver import next_version
from contextos.review.signed_documents import MAX_DOCUMENT_BYTES, document_of
from registry.admin.draft_checks import (
    check_report,
    count_by_severity,
    finding_rows,
    posted_text,
    tenant_of,
)
from registry.admin.draft_form.fields import pretty
from registry.json_faults import JsonFault, fault_of
from registry.readiness import Finding


@dataclass(slots=True)
class DocumentEditing:
    """A draft in somebody's hands: the text as typed, the document in it, and what is wrong."""

    text: str
    document: dict[str, Any] | None = None
    fault: JsonFault | None = None
    refusal: ContextOSError | None = None
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of_text(cls, text: str) -> DocumentEditing:
        """What can't be read stays as it is, with the reason and its place."""
        try:
            document = strict_json.loads_object(text, max_bytes=MAX_DOCUMENT_BYTES)
        except ContextOSError as refusal:
            return cls(text, fault=fault_of(text, refusal))
        return cls(text, dict(document))

    def check(
        self, examine: Callable[[str, dict[str, Any]], tuple[Finding, ...]], tenant: str
    ) -> None:
        """Find everything wrong with the document."""
        if self.document is not None:
            self.findings = examine(tenant, self.document)

    def rows(self) -> list[dict[str, str]]:
        """The findings, each with the line on which it shows."""
        return finding_rows(self.findings, self.text)

    def counts(self) -> dict[str, int]:
        """How many findings of each severity there are."""
        return count_by_severity(self.findings)


class DocumentDraftPages:
    """The pages of drafts, mixed into the admin of one kind of document."""

    admin_site: Any
    opts: Any
    model: Any
    document_kind: Any  # contextos.review.documents.DocumentKind
    document_services: Any  # the module with create_draft and replace_draft
    example: Path
    noun = "document"
    edit_template = "registry/document_edit.html"

    def editing_context(self, editing: DocumentEditing) -> dict[str, Any]:
        """What the page of one kind shows beside the text."""
        return {}

    # --- addresses ----------------------------------------------------------------------------
    def draft_urls(self) -> list[URLPattern]:
        """New, check and edit."""
        guarded, stem = self.admin_site.admin_view, f"registry_{self.opts.model_name}"
        return [
            path("new/", guarded(self.new_view), name=f"{stem}_new"),
            path("check/", guarded(self.check_view), name=f"{stem}_check"),
            path("<path:object_id>/edit/", guarded(self.edit_view), name=f"{stem}_edit"),
        ]

    # --- pages --------------------------------------------------------------------------------
    def new_view(self, request: HttpRequest) -> HttpResponse:
        """A new version; nothing is stored until saved."""
        if not self.allows(request, "add"):  # type: ignore[attr-defined]
            raise PermissionDenied
        if request.method == "POST":
            return self._work_on(request, self._posted(request), None)
        source = request.GET.get("from")
        if source:
            return self._copied(request, source)
        return self._checked_page(request, self._from_example(), None)

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Write on a draft."""
        version = self.version_or_404(request, object_id)  # type: ignore[attr-defined]
        if not self.allows(request, "change", version):  # type: ignore[attr-defined]
            raise PermissionDenied
        if not version.is_editable:
            messages.error(request, "Only a draft can be edited. Start a new version from it.")
            return HttpResponseRedirect(self.address(version))  # type: ignore[attr-defined]
        if request.method == "POST":
            return self._work_on(request, self._posted(request), version)
        try:
            document = document_of(version)
        except ContextOSError as refusal:
            return self.refused(request, version, refusal)  # type: ignore[attr-defined, no-any-return]
        return self._checked_page(request, DocumentEditing(pretty(document), document), version)

    def check_view(self, request: HttpRequest) -> HttpResponse:
        """The findings of what is typed, for the script that shows them beside the text."""
        if not self.allows(request, "add"):  # type: ignore[attr-defined]
            raise PermissionDenied
        if request.method != "POST":
            raise Http404
        editing = self._posted(request)
        self._check(request, editing)
        return JsonResponse(check_report(editing.rows(), editing.counts(), editing.fault))

    # --- what the buttons do ------------------------------------------------------------------
    def _posted(self, request: HttpRequest) -> DocumentEditing:
        return DocumentEditing.of_text(posted_text(request, limit=MAX_DOCUMENT_BYTES))

    def _work_on(
        self, request: HttpRequest, editing: DocumentEditing, version: Any
    ) -> HttpResponse:
        if request.POST.get("action") == "save" and editing.document is not None:
            try:
                stored = self._stored(request, editing.document, version)
            except ContextOSError as refusal:
                editing.refusal = refusal
            else:
                messages.success(request, _saved_words(stored))
                return HttpResponseRedirect(self.address(stored))  # type: ignore[attr-defined]
        self._check(request, editing)
        return self._edit_page(request, editing, version, checked=True)

    def _stored(self, request: HttpRequest, document: dict[str, Any], version: Any) -> Any:
        person = cast(User, request.user)
        if version is not None:
            return self.document_services.replace_draft(
                version_id=version.pk,
                document=document,
                editor=person,
                actor=actor_of(request),
                expected_digest=request.POST.get("digest") or None,
            )
        return self.document_services.create_draft(
            tenant_id=tenant_of(request), document=document, author=person, actor=actor_of(request)
        )

    def _check(self, request: HttpRequest, editing: DocumentEditing) -> None:
        editing.check(self.document_kind.examine, tenant_of(request))

    # --- drawing ------------------------------------------------------------------------------
    def _copied(self, request: HttpRequest, version_id: str) -> HttpResponse:
        source = self.version_or_404(request, version_id)  # type: ignore[attr-defined]
        try:
            document = dict(document_of(source))
        except ContextOSError as refusal:
            return self.refused(request, source, refusal)  # type: ignore[attr-defined, no-any-return]
        document["version"] = self._next_number(source)
        return self._checked_page(request, DocumentEditing(pretty(document), document), None)

    def _next_number(self, source: Any) -> str:
        same = {"tenant_id": source.tenant_id, self.model.id_column: source.document_id}
        return next_version(self.model.objects.filter(**same).values_list("version", flat=True))

    def _from_example(self) -> DocumentEditing:
        return DocumentEditing.of_text(self.example.read_text(encoding="utf-8"))

    def _checked_page(
        self, request: HttpRequest, editing: DocumentEditing, version: Any
    ) -> HttpResponse:
        self._check(request, editing)
        return self._edit_page(request, editing, version)

    def _edit_page(
        self, request: HttpRequest, editing: DocumentEditing, version: Any, *, checked: bool = False
    ) -> HttpResponse:
        title = f"Edit {version}" if version else f"New {self.noun}"
        back = self.address(version) if version else self._list_url()  # type: ignore[attr-defined]
        plural = str(self.opts.verbose_name_plural)
        trail = [(self._list_url(), plural[:1].upper() + plural[1:]), ("", title)]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": version,
            "version": version,
            "title": title,
            "trail": trail,
            "noun": self.noun,
            "editing": editing,
            "checked": checked,
            "rows": editing.rows(),
            "counts": editing.counts(),
            "refusal": editing.refusal,
            "check_url": reverse(f"admin:registry_{self.opts.model_name}_check"),
            "back": back,
            "max_megabytes": MAX_DOCUMENT_BYTES // (1024 * 1024),
            **self.editing_context(editing),
        }
        refused = editing.fault or editing.refusal
        status = 422 if request.method == "POST" and refused else 200
        return TemplateResponse(request, self.edit_template, context, status=status)

    def _list_url(self) -> str:
        return reverse(f"admin:registry_{self.opts.model_name}_changelist")


def _saved_words(version: Any) -> str:
    if version.block_count == 1:
        return "Draft saved. One finding blocks its submission."
    if version.block_count:
        return f"Draft saved. {version.block_count} findings block its submission."
    return "Draft saved. Nothing blocks its submission."
