"""What writing a gate adds to writing a document: its form, beside its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from approvals.admin.gates_form import (
    GroupChoice,
    blank,
    document_of_fields,
    fields_of,
    fits_form,
    rearranged,
)
from approvals.models import ApproverGroup
from approvals.selectors import ACTIVE_PEOPLE
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.review.document_admin import DocumentVersionAdmin
from contextos.review.draft_pages import Editing


@dataclass(slots=True)
class GateEditing(Editing):
    """Written as JSON by choice, or where the form can't show it."""

    as_json: bool = False

    @property
    def can_be_form(self) -> bool:
        """Whether the form could show it."""
        return self.document is not None and fits_form(self.document)


class GateDraftPages(DocumentVersionAdmin):
    """The pages of drafts, with the form."""

    edit_template = "approvals/gate_edit.html"
    noun = "gate"

    def starting_point(self) -> GateEditing:
        """An empty form."""
        return self.editing_of(blank())

    def editing_of(self, document: dict[str, Any], *, as_json: bool = False) -> GateEditing:
        """What the form can't show is shown as JSON."""
        editing = GateEditing.of_document(document)
        editing.as_json = as_json or not editing.can_be_form
        return editing

    def posted(self, request: HttpRequest) -> GateEditing:
        """The text, or the fields."""
        if request.POST.get("view") != "json":
            return GateEditing.of_document(document_of_fields(request.POST))
        editing = GateEditing.of_text(str(request.POST.get("document", "")))
        editing.as_json = True
        return editing

    def reworked(self, editing: Editing, action: str) -> Editing:
        """After a press on Form, JSON, Add, Remove or Move up."""
        if editing.document is None or not isinstance(editing, GateEditing):
            return editing
        if action in ("form", "json"):
            return self.editing_of(editing.document, as_json=action == "json")
        if editing.as_json:
            return editing
        return self.editing_of(rearranged(editing.document, action))

    def finding_rows(self, editing: Editing) -> list[dict[str, str]]:
        """Each with the id of the field that it is about."""
        rows = editing.rows()
        if isinstance(editing, GateEditing) and not editing.as_json:
            for row, finding in zip(rows, editing.findings, strict=True):
                row["field"] = f"f{finding.pointer}"
                del row["line"]  # of a text that is not shown
        return rows

    def editing_context(self, request: HttpRequest, editing: Editing) -> dict[str, Any]:
        """The form's fields, and what was found about each."""
        fields = None
        if editing.document is not None and not getattr(editing, "as_json", True):
            fields = fields_of(editing.document, group_choices(acting_tenant_id(request)))
        return {
            "fields": fields,
            "beside": _by_field(self.finding_rows(editing)),
            "groups_url": reverse("admin:approvals_approvergroup_changelist"),
        }


def _by_field(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        found.setdefault(row.get("field", ""), []).append(row)
    return found


def group_choices(tenant_id: str) -> tuple[GroupChoice, ...]:
    """The tenant's approver groups with how many active people each has."""
    rows = ApproverGroup.objects.filter(tenant_id=tenant_id).annotate(people=ACTIVE_PEOPLE)
    return tuple(
        GroupChoice(name, title, people)
        for name, title, people in rows.values_list("name", "title", "people")
    )
