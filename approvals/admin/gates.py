"""Admin pages of gates: the list, one version, its review; buttons call the services."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from approvals.admin import gates_page
from approvals.admin.gates_drafts import GateDraftPages
from approvals.admin.gates_list import ShownFilter, same_gate
from approvals.gate_examination import examine
from approvals.gates import GateTerms, read_terms
from approvals.models import GateVersion
from approvals.selectors import group_sizes
from approvals.services import gates
from contextos.adminkit.actions import display
from contextos.review.findings import Severity
from contextos.review.labels import state_badge
from contextos.review.signed_documents import document_of
from contextos.review.states import VersionState
from contextos.review.version_pages import Tab

STEM = "approvals_gateversion"
TABS = (
    Tab("overview", "Terms"),
    Tab("who", "Who could approve"),
    Tab("past", "Last 30 days"),
    Tab("changes", "Changes"),
    Tab("findings", "Findings"),
    Tab("document", "Document"),
    Tab("versions", "Versions"),
    Tab("timeline", "Timeline"),
    Tab("reviews", "Reviews"),
)
_UNDER_WAY = (VersionState.DRAFT, VersionState.IN_REVIEW, VersionState.APPROVED)
_CONSEQUENCES = {
    "submit": [
        "It can't be edited any more; a change is a new version.",
        "Somebody who did not write on it has to approve it.",
    ],
    "publish": [
        "It is signed, and decides from the next request on. The groups it names may vote.",
        "Requests that wait at the version before are voided: they were shown with other terms.",
        "Nobody who wrote on it can approve what passes it.",
    ],
    "rollback": [
        "This version decides again from the next request on; its signature is checked once more.",
        "Requests that wait at the version in force now are voided.",
    ],
    "retire": [
        "It ends for good and can't be published again.",
        "If it is the one in force, the gate is closed: calls that need it are refused.",
    ],
}


@admin.register(GateVersion)
class GateAdmin(GateDraftPages):
    """Who has to agree before a call may run."""

    kind = gates.GATES
    lifecycle = gates.GATE_LIFECYCLE
    document_kind = gates.GATE_DOCUMENTS
    document_services = gates
    page_template = "approvals/gate.html"
    review_template = "approvals/gate_review.html"
    list_display = ["shown_gate", "shown_force", "shown_work", "people", "written_by", "since"]
    list_filter = [ShownFilter]
    search_fields = ["gate_id", "version", "owner_role", "=version_id"]
    search_help_text = "Gate, number, owner or exact version id."
    ordering = ["gate_id", "-version_id"]
    nav_title = "Gates"
    nav_icon = "front_hand"
    nav_order = 30
    nav_badge = "approvals.admin.gates_list.gates_in_review"
    empty_title = "No gates yet"
    empty_text = (
        "A gate says who has to agree before a call may run: which groups, how many people, how "
        "long it waits. Where a policy or a manifest names a gate that nobody keeps, calls stop."
    )
    empty_action = ("Write your first gate", f"admin:{STEM}_new")

    class Media:
        """What the list's lines look like."""

        css = {"all": ["contextos/gates.css"]}

    # --- the list -----------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With what is in force and what is under way of the same gate."""
        rows: QuerySet[Any] = super().get_queryset(request)
        force = same_gate().filter(state=VersionState.PUBLISHED)
        columns = {"force_id": Subquery(force.values("version_id")[:1])}
        columns["force_number"] = Subquery(force.values("version")[:1])
        for state in _UNDER_WAY:
            newest = same_gate().filter(state=state).order_by("-version_id")
            columns[f"{state.value}_id"] = Subquery(newest.values("version_id")[:1])
            columns[f"{state.value}_number"] = Subquery(newest.values("version")[:1])
        found: QuerySet[Any] = rows.annotate(**columns)
        return found

    @display(description="Gate", ordering="gate_id")
    def shown_gate(self, version: GateVersion) -> SafeString:
        """Its id, and which version the line is about."""
        return format_html(
            '<span class="gate-name">{}</span> <span class="gate-sub">{} {}</span>',
            version.gate_id,
            version.version,
            state_badge(version.state),
        )

    @display(description="In force")
    def shown_force(self, version: Any) -> SafeString:
        """The version that decides now."""
        if version.force_id is None:
            return format_html('<span class="gate-none">{}</span>', "none: it is closed")
        url = reverse(f"admin:{STEM}_change", args=[version.force_id])
        return format_html('<a href="{}">{}</a>', url, version.force_number)

    @display(description="Under way")
    def shown_work(self, version: Any) -> SafeString:
        """Drafts and reviews of the gate."""
        found = [
            (reverse(f"admin:{STEM}_change", args=[pk]), number, state_badge(state.value))
            for state in _UNDER_WAY
            if (pk := getattr(version, f"{state.value}_id"))
            and (number := getattr(version, f"{state.value}_number"))
        ]
        if not found:
            return format_html('<span class="gate-count">{}</span>', "nothing")
        return format_html_join(" ", '<a class="gate-work" href="{}">{} {}</a>', found)

    @display(description="People")
    def people(self, version: GateVersion) -> str:
        """How many have to agree."""
        stages = f" in {version.stage_count} stages" if version.stage_count > 1 else ""
        return f"{version.quorum}{stages}"

    @display(description="Author", ordering="author__username")
    def written_by(self, version: GateVersion) -> str:
        """Who wrote the version."""
        return str(version.author)

    # --- the page of one version --------------------------------------------------------------
    def tabs(self, version: GateVersion) -> tuple[Tab, ...]:
        """The terms first."""
        return TABS

    def tab_context(self, request: HttpRequest, version: GateVersion, tab: str) -> dict[str, Any]:
        """What the chosen tab needs."""
        if tab == "versions":
            rows = self.get_queryset(request).filter(gate_id=version.gate_id)
            return {"versions": rows.order_by("-version_id")[:100]}
        if tab == "changes":
            return {"comparison": gates_page.comparison_of(version)}
        return super().tab_context(request, version, tab)

    def document_context(
        self, request: HttpRequest, version: GateVersion, tab: str, document: dict[str, Any]
    ) -> dict[str, Any]:
        """What is known of the terms, if they can be read."""
        terms = _usable_terms(version, document)
        if terms is None:
            fault = "Blocking findings keep this draft from deciding anything. Fix them first."
            return {"tab_fault": fault}
        if tab == "who":
            asked = {name: request.GET.get(name, "")[:150] for name in ("agent", "person")}
            return gates_page.who_could(version, terms, **asked)
        if tab == "past":
            return gates_page.last_days(version, terms)
        texts = {name: document.get(name, "") for name in ("title", "description")}
        return {"terms": gates_page.terms_in_words(terms), "texts": texts}

    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """With what changed since the version in force, and what it says."""
        return {
            **super().review_context(request, version),
            "comparison": gates_page.comparison_of(version),
            "terms": gates_page.terms_in_words(read_terms(document_of(version))),
        }

    def consequences(self, verb: str, version: Any) -> list[str]:
        """What a button sets in motion."""
        return _CONSEQUENCES[verb]


def _usable_terms(version: GateVersion, document: dict[str, Any]) -> GateTerms | None:
    """None while something blocks: such a draft can't be read as terms."""
    found = examine(document, group_sizes(version.tenant_id))
    shape = [f for f in found if f.severity is Severity.BLOCK and f.rule != "gate.group_unknown"]
    return None if shape else read_terms(document)
