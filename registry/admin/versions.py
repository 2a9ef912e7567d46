"""Admin pages of adapter versions: the review queue and the page of one version."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.display import mode_badge, short_hash
from contextos.review.admin import ReviewedVersionAdmin
from contextos.review.forms import CommentForm
from contextos.review.labels import state_badge
from contextos.review.states import Verdict
from contextos.review.version_pages import finding_row
from registry.admin.comparison import compare
from registry.admin.consequences import consequences_of
from registry.admin.drafts import DraftPages
from registry.admin.filters import (
    EnvironmentFilter,
    StateFilter,
    VersionModeFilter,
    state_list_name,
)
from registry.admin.stops import stops_on
from registry.admin.version_page import signature_status, tab_context, tabs_of
from registry.labels import environment_badge, findings_summary, risk_badge
from registry.models import AdapterVersion, Finding, Review
from registry.selectors import manifest_of
from registry.services.lifecycle import ADAPTER_LIFECYCLE, ADAPTER_VERSIONS


@admin.register(AdapterVersion)
class AdapterVersionAdmin(DraftPages, ReviewedVersionAdmin):
    """Versions of manifests; what waits for a reviewer comes first."""

    kind = ADAPTER_VERSIONS
    lifecycle = ADAPTER_LIFECYCLE
    review_template = "registry/review.html"
    list_display = [
        "shown_version",
        "shown_state",
        "shown_environment",
        "mode",
        "risk_verdict",
        "found",
        "progress",
        "author",
        "since",
    ]
    list_filter = [StateFilter, EnvironmentFilter, VersionModeFilter]
    search_fields = ["adapter__adapter_id", "adapter__name", "version", "=version_id"]
    search_help_text = "Adapter, number or exact version id."
    list_select_related = ["adapter", "author"]
    ordering = ["-created_at", "-version_id"]
    counted_as = "version"
    nav_title = "Versions in review"
    nav_icon = "rate_review"
    nav_order = 20
    nav_badge = "registry.panels.versions_in_review"
    empty_title = "No version waits for review"
    empty_text = (
        "Authors submit a draft, and it appears here with what got riskier since the published "
        "version. Use the filter to see drafts and published versions."
    )

    # --- the list -----------------------------------------------------------------------------
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Called after what it shows: those in review, unless another state is chosen."""
        name = state_list_name(request.GET.get(StateFilter.parameter_name, ""))
        context = {"page_name": name, **(extra_context or {})}
        return super().changelist_view(request, context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the envelopes, which hold whole manifests, until a page asks for one."""
        rows: QuerySet[Any] = super().get_queryset(request)
        rows = rows.select_related("adapter", "author")
        yes = Review.objects.filter(verdict=Verdict.APPROVE)
        found: QuerySet[Any] = rows.defer("envelope").annotate(
            blocking=count_per_version(Finding.objects.filter(severity="block")),
            warnings=count_per_version(Finding.objects.filter(severity="warn")),
            approvals=count_per_version(yes),
        )
        return found

    @display(description="Version", ordering="adapter__adapter_id")
    def shown_version(self, version: AdapterVersion) -> str:
        """Adapter and number."""
        return str(version)

    @display(description="Environment", ordering="environment")
    def shown_environment(self, version: AdapterVersion) -> SafeString:
        """Where it applies."""
        return environment_badge(version.environment)

    @display(description="Highest mode")
    def mode(self, version: AdapterVersion) -> SafeString:
        """The riskiest thing it can do."""
        return mode_badge(version.highest_mode)

    @display(description="Risk")
    def risk_verdict(self, version: AdapterVersion) -> SafeString:
        """Compared with what was published when it was submitted."""
        return risk_badge(version)

    @display(description="Findings")
    def found(self, version: Any) -> SafeString:
        """What stops it or wants a tick."""
        return findings_summary(version.blocking, version.warnings)

    def trail(self, version: Any, short: str) -> list[tuple[str, str]]:
        """A version is reached over its adapter."""
        adapter = version.adapter
        top = [
            (reverse("admin:registry_adapter_changelist"), "Adapters"),
            (reverse("admin:registry_adapter_change", args=[adapter.pk]), adapter.adapter_id),
        ]
        if not short:
            return [*top, ("", version.version)]
        return [*top, (self.address(version), version.version), ("", short)]

    # --- the page of one version --------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Pages of drafts and the download before the shared ones."""
        guarded = self.admin_site.admin_view
        return [
            *self.draft_urls(),
            path(
                "<path:object_id>/manifest.json",
                guarded(self.download_view),
                name="registry_adapterversion_download",
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
        tabs = tabs_of(version)
        known = {tab.key for tab in tabs}
        wanted = request.GET.get("tab", "overview")
        chosen = wanted if wanted in known else "overview"
        context = {
            **self.page_frame(request, version, str(version)),
            **self.header_context(request, version),
            "tabs": tabs,
            "tab": chosen,
            "tab_template": f"registry/tabs/{chosen}.html",
            "signature": signature_status(version),
            **tab_context(version, chosen),
        }
        return TemplateResponse(request, "registry/version.html", context)

    def header_context(self, request: HttpRequest, version: AdapterVersion) -> dict[str, Any]:
        """The head of a version's pages: badges, buttons, and what stops it."""
        names = version.capabilities.values_list("capability_id", flat=True)[:500]
        return {
            "state": state_badge(version.state),
            "mode": mode_badge(version.highest_mode),
            "risk": risk_badge(version),
            "environment_label": environment_badge(version.environment),
            "digest": short_hash(version.digest),
            "stops": stops_on(
                version.tenant_id,
                adapter_id=version.adapter.adapter_id,
                version_ids=[version.version_id],
                capability_ids=list(names),
            ),
            "buttons": self.may_press(request, version),
            "standing": self.standing(request, version),
            "may_edit": version.is_editable and self.allows(request, "change", version),
            "may_start_new": self.allows(request, "add"),
            "may_throw": request.user.has_perm("registry.add_killswitch"),
            "may_comment": self.may_comment(request, version),
            "comment_form": CommentForm(),
            "blocking": version.findings.filter(severity="block").count(),
        }

    def review_context(self, request: HttpRequest, version: Any) -> dict[str, Any]:
        """The risk diff and the warnings."""
        warnings = [
            {**finding_row(finding), "tick_id": finding.tick_id}
            for finding in version.findings.filter(severity="warn")
        ]
        return {
            **self.header_context(request, version),
            "comparison": compare(version, direction=request.GET.get("direction", "")),
            "warnings": warnings,
            "signature": signature_status(version),
        }

    def consequences(self, verb: str, version: Any) -> list[str]:
        """What a button sets in motion."""
        return consequences_of(verb, version)

    def download_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The manifest exactly as it is hashed and signed."""
        version = self.version_or_404(request, object_id)
        name = f"{version.adapter.adapter_id}-{version.version}"
        return self.document_file(request, version, manifest_of, name)


def count_per_version(rows: QuerySet[Any], version: str = "pk") -> Coalesce:
    """How many of the rows belong to the version, as a column of its own."""
    mine = rows.filter(version=OuterRef(version)).order_by()
    return Coalesce(Subquery(mine.values("version").annotate(n=Count("pk")).values("n")), 0)
