"""Pages on which drafts are made and edited: upload, paste, twelve-step form, JSON, live check."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.json_faults import JsonFault, fault_of
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.review.document_text import pretty
from contextos.review.draft_checks import (
    check_report,
    count_by_severity,
    finding_rows,
    posted_text,
)
from registry.admin.draft_form import Posted, apply_fields, bind, windows, with_change
from registry.admin.draft_form.fields import whole_number
from registry.admin.draft_form.posting import tried_samples
from registry.admin.draft_form.steps import STARTER
from registry.manifest import MAX_MANIFEST_BYTES, normalise
from registry.models import AdapterVersion
from registry.readiness import Finding, Severity, lint_document
from registry.selectors import manifest_of
from registry.services.manifests import create_draft, replace_draft

FORM, JSON = "form", "json"
EXAMPLE = settings.BASE_DIR / "examples" / "manifests" / "payments.json"
# Where a refusal by the service belongs on the page.
_PLACES = {
    "manifest.adapter_id_missing": "/adapter_id",
    "manifest.adapter_id_malformed": "/adapter_id",
    "manifest.adapter_mismatch": "/adapter_id",
    "manifest.environment_unknown": "/environment",
    "manifest.version_malformed": "/version",
    "manifest.version_taken": "/version",
    "manifest.version_mismatch": "/version",
}


@dataclass(slots=True)
class Editing:
    """A draft in somebody's hands: the text as typed, the document in it, and what is wrong."""

    view: str
    text: str
    document: dict[str, Any] | None = None
    fault: JsonFault | None = None
    window: int = 0
    posted: Posted | None = None
    refusal: ContextOSError | None = None
    findings: tuple[Finding, ...] = ()
    samples: dict[str, str] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether there is a document without unreadable fields."""
        return self.document is not None and not (self.posted and self.posted.faults)

    def check(self) -> None:
        """Find everything wrong with the document."""
        if self.document is not None:
            self.findings = lint_document(self.document).findings


def editing_from_text(text: str, view: str) -> Editing:
    """Start from a text; what can't be read stays as it is, with the reason and its place."""
    try:
        document = strict_json.loads_object(text, max_bytes=MAX_MANIFEST_BYTES)
    except ContextOSError as refusal:
        return Editing(JSON, text, fault=fault_of(text, refusal))
    return editing_from_document(dict(document), view, text=text)


def editing_from_document(
    document: dict[str, Any], view: str, *, text: str | None = None
) -> Editing:
    """Start from a document; the form needs its one normalised shape, JSON shows it as written."""
    if view == FORM:
        document = normalise(document)
        text = None
    return Editing(view, pretty(document) if text is None else text, document)


def editing_from_post(request: HttpRequest) -> Editing:
    """What the page sends: either text, or fields over the document they were shown for."""
    data = request.POST
    view = FORM if data.get("view") == FORM else JSON
    editing = editing_from_text(posted_text(request, limit=MAX_MANIFEST_BYTES), view)
    if view == FORM and editing.document is not None and "file" not in request.FILES:
        _read_form(editing, data)
    return editing


def _read_form(editing: Editing, data: Any) -> None:
    document = editing.document or {}
    editing.window = whole_number(data.get("window", "")) or 0
    editing.posted = apply_fields(document, data, window=editing.window)
    editing.samples = {name: data[name] for name in data if name.startswith("sample/")}
    editing.text = pretty(document)


class DraftPages:
    """The pages of drafts, mixed into the admin of versions."""

    admin_site: Any
    opts: Any

    # --- addresses ----------------------------------------------------------------------------
    def draft_urls(self) -> list[URLPattern]:
        """New, check and edit."""
        guarded = self.admin_site.admin_view
        return [
            path("new/", guarded(self.new_view), name="registry_adapterversion_new"),
            path("check/", guarded(self.check_view), name="registry_adapterversion_check"),
            path(
                "<path:object_id>/edit/",
                guarded(self.edit_view),
                name="registry_adapterversion_edit",
            ),
        ]

    # --- pages --------------------------------------------------------------------------------
    def new_view(self, request: HttpRequest) -> HttpResponse:
        """A new version: choose how to start, then write; nothing is stored until saved."""
        if not request.user.has_perm("registry.add_adapterversion"):
            raise PermissionDenied
        if request.method == "POST":
            return self._work_on(request, editing_from_post(request), None)
        start = request.GET.get("start", "")
        source = request.GET.get("from")
        if source:
            return self._copied(request, source)
        if start == FORM:
            return self._page(request, editing_from_document(dict(STARTER), FORM), None)
        if start == "paste":
            return self._page(request, Editing(JSON, ""), None)
        if start == "example" and EXAMPLE.is_file():
            return self._page(request, _example(), None)
        return self._start_page(request)

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Write on a draft."""
        version = self.version_or_404(request, object_id)  # type: ignore[attr-defined]
        if not request.user.has_perm("registry.change_adapterversion"):
            raise PermissionDenied
        if not version.is_editable:
            messages.error(request, "Only a draft can be edited. Start a new version from it.")
            return HttpResponseRedirect(self._version_url(version))
        if request.method == "POST":
            return self._work_on(request, editing_from_post(request), version)
        try:
            manifest = manifest_of(version)
        except ContextOSError as refusal:
            return self.refused(request, version, refusal)  # type: ignore[attr-defined, no-any-return]
        return self._page(request, _shown(request, manifest), version)

    def check_view(self, request: HttpRequest) -> HttpResponse:
        """The findings of what is typed, for the script that shows them beside the fields."""
        may = ("registry.add_adapterversion", "registry.change_adapterversion")
        if not any(request.user.has_perm(name) for name in may):
            raise PermissionDenied
        if request.method != "POST":
            raise Http404
        editing = editing_from_post(request)
        editing.check()
        return JsonResponse(_report(editing))

    # --- what the buttons do ------------------------------------------------------------------
    def _work_on(
        self, request: HttpRequest, editing: Editing, version: AdapterVersion | None
    ) -> HttpResponse:
        action = request.POST.get("action", "check")
        if action == "save" and editing.is_sound:
            return self._save(request, editing, version)
        if editing.document is not None:
            _turn(editing, action, request.POST)
            editing.check()
        return self._page(request, editing, version, checked=True)

    def _save(
        self, request: HttpRequest, editing: Editing, version: AdapterVersion | None
    ) -> HttpResponse:
        try:
            stored = self._stored(request, editing, version)
        except ContextOSError as refusal:
            editing.refusal = refusal
            editing.check()
            return self._page(request, editing, version)
        blocking = stored.findings.filter(severity=Severity.BLOCK.value).count()
        messages.success(request, _saved_words(stored, blocking))
        tab = "?tab=findings" if stored.findings.exists() else ""
        return HttpResponseRedirect(f"{self._version_url(stored)}{tab}")

    def _stored(
        self, request: HttpRequest, editing: Editing, version: AdapterVersion | None
    ) -> AdapterVersion:
        document, person = editing.document or {}, cast(User, request.user)
        if version is not None:
            return replace_draft(
                version_id=version.pk,
                document=document,
                editor=person,
                actor=actor_of(request),
                expected_digest=request.POST.get("digest") or None,
            )
        return create_draft(
            tenant_id=acting_tenant_id(request),
            document=document,
            author=person,
            actor=actor_of(request),
        )

    # --- drawing ------------------------------------------------------------------------------
    def _start_page(self, request: HttpRequest) -> HttpResponse:
        versions = self.get_queryset(request)  # type: ignore[attr-defined]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "New version",
            "trail": [(_list_url(), "Adapters"), ("", "New version")],
            "has_example": EXAMPLE.is_file(),
            "known": versions.order_by("adapter__adapter_id", "-created_at")[:50],
        }
        return TemplateResponse(request, "registry/new_version.html", context)

    def _page(
        self,
        request: HttpRequest,
        editing: Editing,
        version: AdapterVersion | None,
        *,
        checked: bool = False,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": version,
            "version": version,
            "title": f"Edit {version}" if version else "New version",
            "trail": self._trail(version),
            "editing": editing,
            "checked": checked,
            "back": self._version_url(version) if version else _list_url(),
            "max_megabytes": MAX_MANIFEST_BYTES // (1024 * 1024),
            **_findings_context(editing),
        }
        if editing.view == FORM and editing.document is not None:
            context["form"] = _bound(editing)
        refused = editing.fault or editing.refusal or (editing.posted and editing.posted.faults)
        status = 422 if request.method == "POST" and refused else 200
        return TemplateResponse(request, "registry/edit.html", context, status=status)

    def _copied(self, request: HttpRequest, version_id: str) -> HttpResponse:
        source = self.version_or_404(request, version_id)  # type: ignore[attr-defined]
        try:
            manifest = dict(manifest_of(source))
        except ContextOSError as refusal:
            return self.refused(request, source, refusal)  # type: ignore[attr-defined, no-any-return]
        manifest.pop("version", None)  # the next number is given when it is saved
        return self._page(request, _shown(request, manifest), None)

    def _trail(self, version: AdapterVersion | None) -> list[tuple[str, str]]:
        top = (_list_url(), "Adapters")
        if version is None:
            return [top, ("", "New version")]
        return [top, (self._version_url(version), str(version)), ("", "Edit")]

    def _version_url(self, version: AdapterVersion) -> str:
        return reverse("admin:registry_adapterversion_change", args=[version.pk])


def _shown(request: HttpRequest, manifest: dict[str, Any]) -> Editing:
    """In the view that the address asks for, with everything that is wrong with it."""
    view = FORM if request.GET.get("view") == FORM else JSON
    editing = editing_from_document(manifest, view)
    editing.check()
    return editing


def _example() -> Editing:
    """A manifest without a finding, to look at and to change."""
    editing = editing_from_text(EXAMPLE.read_text(encoding="utf-8"), JSON)
    editing.check()
    return editing


def _turn(editing: Editing, action: str, data: Any) -> None:
    """Change view or window, add or remove a part; all without any script."""
    document = editing.document or {}
    if action == "show_json":
        editing.view = JSON
    elif action == "show_form":
        turned = editing_from_document(document, FORM)
        editing.view, editing.text, editing.document = FORM, turned.text, turned.document
    elif action.startswith("window:"):
        editing.window = whole_number(action.partition(":")[2]) or 0
    else:
        with_change(document, action, data)
        editing.text = pretty(document) if editing.view == FORM else editing.text
        if action == "add_capability":
            editing.window = windows(document) - 1


def _bound(editing: Editing) -> Any:
    document = editing.document or {}
    faults = editing.posted.faults if editing.posted else {}
    samples = tried_samples(document, editing.samples, window=editing.window)
    return bind(document, editing.findings, window=editing.window, faults=faults, samples=samples)


def _findings_context(editing: Editing) -> dict[str, Any]:
    shown_as_text = editing.view == JSON and editing.document is not None
    refusal = editing.refusal
    return {
        "rows": finding_rows(editing.findings, editing.text if shown_as_text else None),
        "counts": count_by_severity(editing.findings),
        "refusal": refusal,
        "refusal_place": _place_of(refusal) if refusal else "",
    }


def _place_of(refusal: ContextOSError) -> str:
    return str(refusal.data.get("pointer") or _PLACES.get(refusal.code, ""))


def _report(editing: Editing) -> dict[str, Any]:
    """What the script shows: findings with their field, or the fault that hides them."""
    form = _bound(editing) if editing.view == FORM and editing.document is not None else None
    context = _findings_context(editing)
    for row, finding in zip(context["rows"], editing.findings, strict=True):
        row["field"] = form.placed.get(finding.pointer, "") if form else ""
    faults = editing.posted.faults if editing.posted else {}
    return check_report(
        context["rows"],
        context["counts"],
        editing.fault,
        steps={bound.step.number: bound.open_count for bound in form.steps} if form else None,
        faults={name: message for name, (_, message) in faults.items()},
    )


def _saved_words(version: AdapterVersion, blocking: int) -> str:
    if blocking:
        noun = "finding" if blocking == 1 else "findings"
        return f"Draft {version} is saved. {blocking} blocking {noun} must be fixed to submit it."
    return f"Draft {version} is saved. Nothing blocks it: you can submit it for review."


def _list_url() -> str:
    return reverse("admin:registry_adapter_changelist")
