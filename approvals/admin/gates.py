"""Admin pages of gates: the list, one version, its review; buttons call the services."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from approvals.admin import gates_page
from approvals.admin.gates_drafts import STEM, GateDraftPages
from approvals.admin.gates_list import ShownFilter, same_gate
from approvals.gate_examination import examine
from approvals.gates import GateTerms, read_terms
from approvals.models import GateVersion
from approvals.selectors import group_sizes
from approvals.services import gates
from contextos.adminkit.actions import display
from contextos.adminkit.display import short_hash
from contextos.core.errors import ContextOSError
from contextos.review.admin import ReviewedVersionAdmin
from contextos.review.findings import Severity
from contextos.review.labels import state_badge
from contextos.review.signed_documents import document_of
from contextos.review.states import VersionState
from contextos.review.timeline import timeline_of

TABS = (
    ("overview", "Terms"),
    ("who", "Who could approve"),
    ("past", "Last 30 days"),
    ("changes", "Changes"),
    ("findings", "Findings"),
    ("document", "Document"),
    ("versions", "Versions"),
    ("timeline", "Timeline"),
    ("reviews", "Reviews"),
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
class GateAdmin(GateDraftPages, ReviewedVersionAdmin):
    """Who has to agree before a call may run."""

    kind = gates.GATES
    lifecycle = gates.GATE_LIFECYCLE
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
        """With what is in force and what is under way of the same gate; without envelopes."""
        rows: QuerySet[Any] = super().get_queryset(request)
        force = same_gate().filter(state=VersionState.PUBLISHED)
        columns = {"force_id": Subquery(force.values("version_id")[:1])}
        columns["force_number"] = Subquery(force.values("version")[:1])
        for state in _UNDER_WAY:
            newest = same_gate().filter(state=state).order_by("-version_id")
            columns[f"{state.value}_id"] = Subquery(newest.values("version_id")[:1])
            columns[f"{state.value}_number"] = Subquery(newest.values("version")[:1])
        found: QuerySet[Any] = rows.select_related("author").annotate(**columns)
        return found.defer("envelope")

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

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Adding means writing a draft."""
        return self.allows(request, "add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page for new drafts asks for the permission itself."""
        return HttpResponseRedirect(reverse(f"admin:{STEM}_new"))

    # --- the page of one version --------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Pages of drafts and the download before the shared ones."""
        guarded = self.admin_site.admin_view
        download = path(
            "<path:object_id>/document.json", guarded(self.download_view), name=f"{STEM}_download"
        )
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
        wanted = request.GET.get("tab", "overview")
        tab = wanted if wanted in dict(TABS) else "overview"
        context = {
            **self.page_frame(request, version, str(version)),
            **self.header_context(request, version),
            "tabs": TABS,
            "tab": tab,
            **self._tab_context(request, version, tab),
        }
        return TemplateResponse(request, "approvals/gate.html", context)

    def _tab_context(self, request: HttpRequest, version: GateVersion, tab: str) -> dict[str, Any]:
        if tab == "findings":
            return {"finding_groups": gates_page.finding_groups(version)}
        if tab == "timeline":
            return {"moments": timeline_of(version.tenant_id, self.kind.name, [version.pk])}
        if tab == "reviews":
            return {"entries": self.thread(version)}
        if tab == "versions":
            rows = self.get_queryset(request).filter(gate_id=version.gate_id)
            return {"versions": rows.order_by("-version_id")[:100]}
        if tab == "changes":
            return {"comparison": gates_page.comparison_of(version)}
        try:
            document = document_of(version)
        except ContextOSError as refusal:
            return {"tab_fault": f"{refusal.message} {refusal.remediation}"}
        if tab == "document":
            return {"lines": gates_page.document_lines(document)}
        terms = _usable_terms(version, document)
        if terms is None:
            fault = "Blocking findings keep this draft from deciding anything. Fix them first."
            return {"tab_fault": fault}
        return self._terms_context(request, version, tab, terms)

    def _terms_context(
        self, request: HttpRequest, version: GateVersion, tab: str, terms: GateTerms
    ) -> dict[str, Any]:
        if tab == "who":
            asked = {name: request.GET.get(name, "")[:150] for name in ("agent", "person")}
            return gates_page.who_could(version, terms, **asked)
        if tab == "past":
            return gates_page.last_days(version, terms)
        document = document_of(version)
        texts = {name: document.get(name, "") for name in ("title", "description")}
        return {"terms": gates_page.terms_in_words(terms), "texts": texts}

    def header_context(self, request: HttpRequest, version: GateVersion) -> dict[str, Any]:
        """The head of a version's pages: badges, buttons, signature."""
        words, tone, key = gates_page.signature_of(version)
        return {
            "state": state_badge(version.state),
            "digest": short_hash(version.digest),
            "signature": {"text": words, "tone": tone, "kid": key},
            "buttons": self.may_press(request, version),
            "standing": self.standing(request, version),
            "may_edit": version.is_editable and self.allows(request, "change", version),
            "may_start_new": self.allows(request, "add"),
            "may_comment": self.may_comment(request, version),
            "comment_url": self.address(version, "comment"),
            "urls": {
                page: self.address(version, page)
                for page in ("change", "edit", "submit", "review", "publish", "retire", "download")
            },
            "new_url": reverse(f"admin:{STEM}_new"),
        }

    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """What changed since the version in force, whether enough people keep it, warnings."""
        warned = [item for item in version.findings if item["severity"] == "warn"]
        terms = read_terms(document_of(version))
        return {
            **self.header_context(request, version),
            "comparison": gates_page.comparison_of(version),
            "terms": gates_page.terms_in_words(terms),
            "warnings": [
                {**gates_page.finding_row(item), "tick_id": item["id"]} for item in warned
            ],
        }

    def consequences(self, verb: str, version: Any) -> list[str]:
        """What a button sets in motion."""
        return _CONSEQUENCES[verb]

    def download_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The document exactly as it is hashed and signed."""
        version = self.version_or_404(request, object_id)
        name = f"{version.document_id}-{version.version}"
        return self.document_file(request, version, document_of, name)


def _usable_terms(version: GateVersion, document: dict[str, Any]) -> GateTerms | None:
    """None while something blocks: such a draft can't be read as terms."""
    found = examine(document, group_sizes(version.tenant_id))
    shape = [f for f in found if f.severity is Severity.BLOCK and f.rule != "gate.group_unknown"]
    return None if shape else read_terms(document)
