"""Pages on which a gate is written: a form or its JSON, the findings beside each field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from approvals.admin.gates_form import (
    GroupChoice,
    blank,
    document_of_fields,
    fields_of,
    fits_form,
    rearranged,
)
from approvals.admin.gates_page import finding_row, pretty
from approvals.models import ApproverGroup, GateVersion
from approvals.selectors import ACTIVE_PEOPLE
from approvals.services import gates
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.review.findings import Finding, Severity
from contextos.review.semver import next_version
from contextos.review.signed_documents import MAX_DOCUMENT_BYTES, document_of

STEM = "approvals_gateversion"


@dataclass(slots=True)
class GateEditing:
    """A draft in somebody's hands; without a document the text can't be read."""

    text: str
    document: dict[str, Any] | None
    as_json: bool = False
    refusal: ContextOSError | None = None
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of_document(cls, document: dict[str, Any], *, as_json: bool = False) -> GateEditing:
        """What the form can't show is shown as JSON."""
        return cls(pretty(document), document, as_json or not fits_form(document))

    @classmethod
    def of_text(cls, text: str) -> GateEditing:
        """A text that can't be read stays as it was typed, with the reason."""
        try:
            document = strict_json.loads_object(text, max_bytes=MAX_DOCUMENT_BYTES)
        except ContextOSError as refusal:
            return cls(text, None, as_json=True, refusal=refusal)
        return cls(text, dict(document), as_json=True)

    @property
    def is_readable(self) -> bool:
        """Whether there is a document to check."""
        return self.document is not None

    def rows(self) -> list[dict[str, Any]]:
        """The findings as the page and its script show them, each with the id of its field."""
        return [finding_row(finding) for finding in self.findings]

    def counts(self) -> dict[str, int]:
        """How many findings of each severity there are."""
        found = [finding.severity for finding in self.findings]
        return {severity.value: found.count(severity) for severity in Severity}


class GateDraftPages:
    """The pages of drafts, mixed into the admin of gates."""

    admin_site: Any
    opts: Any

    def draft_urls(self) -> list[URLPattern]:
        """New, check and edit."""
        guarded = self.admin_site.admin_view
        return [
            path("new/", guarded(self.new_view), name=f"{STEM}_new"),
            path("check/", guarded(self.check_view), name=f"{STEM}_check"),
            path("<path:object_id>/edit/", guarded(self.edit_view), name=f"{STEM}_edit"),
        ]

    # --- pages --------------------------------------------------------------------------------
    def new_view(self, request: HttpRequest) -> HttpResponse:
        """A new gate, or a new version of one; nothing is stored until saved."""
        if not self.allows(request, "add"):  # type: ignore[attr-defined]
            raise PermissionDenied
        if request.method == "POST":
            return self._work_on(request, None)
        source = request.GET.get("from")
        document = self._next_of(request, source) if source else blank()
        return self._edit_page(request, self._checked(request, document), None)

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Write on a draft."""
        version = self.version_or_404(request, object_id)  # type: ignore[attr-defined]
        if not self.allows(request, "change", version):  # type: ignore[attr-defined]
            raise PermissionDenied
        if not version.is_editable:
            messages.error(request, "Only a draft can be edited. Start a new version from it.")
            return HttpResponseRedirect(self.address(version))  # type: ignore[attr-defined]
        if request.method == "POST":
            return self._work_on(request, version)
        return self._edit_page(request, self._checked(request, document_of(version)), version)

    def check_view(self, request: HttpRequest) -> HttpResponse:
        """The findings of what is typed, for the script that shows them beside the fields."""
        if not self.allows(request, "add"):  # type: ignore[attr-defined]
            raise PermissionDenied
        if request.method != "POST":
            raise Http404
        editing = self._posted(request)
        self._examine(request, editing)
        refusal = editing.refusal
        fault = {"message": refusal.message, "line": None} if refusal else None
        rows = [{**row, "badge": None} for row in editing.rows()]
        return JsonResponse(
            {"findings": rows, "counts": editing.counts(), "steps": {}, "faults": {}}
            | {"fault": fault}
        )

    # --- what the buttons do ------------------------------------------------------------------
    def _posted(self, request: HttpRequest) -> GateEditing:
        if request.POST.get("view") == "json":
            return GateEditing.of_text(str(request.POST.get("document", "")))
        document = document_of_fields(request.POST)
        return GateEditing(pretty(document), document)

    def _work_on(self, request: HttpRequest, version: GateVersion | None) -> HttpResponse:
        editing, action = self._posted(request), str(request.POST.get("action", "check"))
        if action == "save" and editing.document is not None:
            answer = self._save(request, editing, version)
            if answer is not None:
                return answer
        elif editing.document is not None:
            editing = _rearranged(editing, editing.document, action)
        self._examine(request, editing)
        return self._edit_page(request, editing, version, checked=True)

    def _save(
        self, request: HttpRequest, editing: GateEditing, version: GateVersion | None
    ) -> HttpResponse | None:
        try:
            stored = self._stored(request, editing.document or {}, version)
        except ContextOSError as refusal:
            editing.refusal = refusal
            return None
        left = stored.block_count
        told = f"{left} findings block" if left else "Nothing blocks"
        messages.success(request, f"Draft saved. {told} its submission.")
        return HttpResponseRedirect(self.address(stored))  # type: ignore[attr-defined]

    def _stored(
        self, request: HttpRequest, document: dict[str, Any], version: GateVersion | None
    ) -> GateVersion:
        person, actor = cast(User, request.user), actor_of(request)
        if version is None:
            return gates.create_draft(
                tenant_id=acting_tenant_id(request), document=document, author=person, actor=actor
            )
        return gates.replace_draft(
            version_id=version.pk,
            document=document,
            editor=person,
            actor=actor,
            expected_digest=request.POST.get("digest") or None,
        )

    def _checked(self, request: HttpRequest, document: dict[str, Any]) -> GateEditing:
        editing = GateEditing.of_document(dict(document))
        self._examine(request, editing)
        return editing

    def _examine(self, request: HttpRequest, editing: GateEditing) -> None:
        if editing.document is not None:
            editing.findings = gates.GATE_DOCUMENTS.examine(
                acting_tenant_id(request), editing.document
            )

    def _next_of(self, request: HttpRequest, version_id: str) -> dict[str, Any]:
        source = self.version_or_404(request, version_id)  # type: ignore[attr-defined]
        same = GateVersion.objects.filter(tenant_id=source.tenant_id, gate_id=source.gate_id)
        number = next_version(same.values_list("version", flat=True))
        return {**document_of(source), "version": number}

    # --- drawing ------------------------------------------------------------------------------
    def _edit_page(
        self,
        request: HttpRequest,
        editing: GateEditing,
        version: GateVersion | None,
        *,
        checked: bool = False,
    ) -> HttpResponse:
        rows = editing.rows()
        list_url = reverse(f"admin:{STEM}_changelist")
        title = f"Edit {version}" if version else _new_title(request, editing)
        fields = None
        if editing.document is not None and not editing.as_json:
            fields = fields_of(editing.document, group_choices(acting_tenant_id(request)))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": version,
            "version": version,
            "title": title,
            "trail": [(list_url, "Gates"), ("", title)],
            "editing": editing,
            "fields": fields,
            "can_be_form": editing.document is not None and fits_form(editing.document),
            "checked": checked,
            "rows": rows,
            "beside": _by_field(rows),
            "counts": editing.counts(),
            "check_url": reverse(f"admin:{STEM}_check"),
            "groups_url": reverse("admin:approvals_approvergroup_changelist"),
            "back": self.address(version) if version else list_url,  # type: ignore[attr-defined]
        }
        status = 422 if request.method == "POST" and editing.refusal else 200
        return TemplateResponse(request, "approvals/gate_edit.html", context, status=status)


def _new_title(request: HttpRequest, editing: GateEditing) -> str:
    named = str((editing.document or {}).get("gate_id") or "")
    copied = bool(request.GET.get("from")) and bool(named)
    return f"New version of {single_line(named, limit=80)}" if copied else "New gate"


def _rearranged(editing: GateEditing, document: dict[str, Any], action: str) -> GateEditing:
    """After a press on Form, JSON, Add, Remove or Move up."""
    if action in ("form", "json"):
        return GateEditing.of_document(document, as_json=action == "json")
    return editing if editing.as_json else GateEditing.of_document(rearranged(document, action))


def _by_field(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["field"], []).append(row)
    return found


def group_choices(tenant_id: str) -> tuple[GroupChoice, ...]:
    """The tenant's approver groups with how many active people each has."""
    rows = ApproverGroup.objects.filter(tenant_id=tenant_id).annotate(people=ACTIVE_PEOPLE)
    return tuple(
        GroupChoice(name, title, people)
        for name, title, people in rows.values_list("name", "title", "people")
    )
