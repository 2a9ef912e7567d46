"""Admin pages of adapters: what there is, what is active where, one click back."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, F, OuterRef, Prefetch, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import badge, mode_badge, when
from contextos.core.modes import ApprovalMode
from contextos.core.text import reveal_invisible
from contextos.review.labels import state_badge
from contextos.review.states import SIGNED, VersionState
from registry.admin.filters import (
    AdapterEnvironmentFilter,
    AdapterModeFilter,
    AdapterStateFilter,
)
from registry.admin.stops import stops_on
from registry.admin.versions import count_per_version
from registry.labels import environment_badge, findings_summary, risk_badge
from registry.models import Adapter, AdapterVersion, Finding, KillSwitch
from registry.models.kill_switches import KillScope

SHOWN_VERSIONS = 100
_OPEN = (
    VersionState.PUBLISHED,
    VersionState.APPROVED,
    VersionState.IN_REVIEW,
    VersionState.DRAFT,
)


@admin.register(Adapter)
class AdapterAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Integrations of the tenant; adding one means writing its first version."""

    list_display = ["adapter_id", "shown_name", "active", "mode", "state", "found", "changed"]
    list_filter = [AdapterStateFilter, AdapterEnvironmentFilter, AdapterModeFilter]
    search_fields = ["adapter_id", "name", "owner_role"]
    search_help_text = "Adapter id, name or owner."
    ordering = ["adapter_id"]
    nav_icon = "extension"
    nav_order = 10
    empty_title = "No adapters yet"
    empty_text = (
        "An adapter is a signed manifest that says what an outside system may be asked to do. "
        "Upload or paste your first manifest, look at an example, or fill in the twelve-step "
        "form. The guide in docs/guides/manifest-author explains each step."
    )
    empty_action = ("Write your first manifest", "admin:registry_adapterversion_new")

    # --- the list -----------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the open versions of each adapter and the findings of its newest one."""
        versions = AdapterVersion.objects.filter(adapter=OuterRef("pk"))
        newest = versions.order_by("-created_at", "-version_id")
        blocking = Finding.objects.filter(severity="block")
        warnings = Finding.objects.filter(severity="warn")
        current = AdapterVersion.objects.filter(state__in=_OPEN).defer("envelope")
        rows: QuerySet[Any] = super().get_queryset(request)
        rows = rows.annotate(
            newest_id=Subquery(newest.values("pk")[:1]),
            last_change=Subquery(newest.values("created_at")[:1]),
            is_stopped=Exists(_switch_on_adapter()),
        ).annotate(
            blocking=count_per_version(blocking, version="newest_id"),
            warnings=count_per_version(warnings, version="newest_id"),
        )
        shown = Prefetch("versions", queryset=current.order_by("-created_at"), to_attr="current")
        return rows.prefetch_related(shown)

    @display(description="Name", ordering="name")
    def shown_name(self, adapter: Adapter) -> str:
        """As its manifest calls it."""
        return reveal_invisible(adapter.name)

    @display(description="Active version")
    def active(self, adapter: Any) -> SafeString:
        """What new runs get, per environment."""
        live = [v for v in adapter.current if v.state == VersionState.PUBLISHED]
        if not live:
            return badge("none", "neutral")
        return format_html_join(
            " ", "{}", ((badge(f"{v.environment}: {v.version}", "success"),) for v in live)
        )

    @display(description="Highest mode")
    def mode(self, adapter: Any) -> SafeString:
        """Of what is active; before that of the newest open version."""
        live = [v for v in adapter.current if v.state == VersionState.PUBLISHED]
        ranks = {mode.value: mode.rank for mode in ApprovalMode}
        modes = [v.highest_mode for v in live or adapter.current[:1] if v.highest_mode in ranks]
        return mode_badge(max(modes, key=ranks.__getitem__)) if modes else badge("none")

    @display(description="State")
    def state(self, adapter: Any) -> SafeString:
        """What it is up to."""
        states = {v.state for v in adapter.current}
        shown = [state_badge(s) for s in _OPEN if s in states]
        if adapter.is_stopped:
            shown.insert(0, badge("stopped", "danger"))
        return format_html_join(" ", "{}", ((item,) for item in shown or [badge("ended")]))

    @display(description="Findings")
    def found(self, adapter: Any) -> SafeString:
        """Of the newest version."""
        return findings_summary(adapter.blocking, adapter.warnings)

    @display(description="Last change", ordering="last_change")
    def changed(self, adapter: Any) -> SafeString:
        """When the newest version was begun."""
        return when(adapter.last_change)

    # --- adding and the page of one adapter ---------------------------------------------------
    def has_add_permission(self, request: HttpRequest) -> bool:
        """Authors write a first version; that makes the adapter."""
        return request.user.has_perm("registry.add_adapterversion")

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """There is nothing to fill in but a manifest."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:registry_adapterversion_new"))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Active versions with a way back, every version, and what stops it."""
        adapter = self.get_object(request, object_id)
        if adapter is None:
            raise Http404
        if not self.has_view_permission(request, adapter):
            raise PermissionDenied
        versions = list(
            adapter.versions.select_related("author").defer("envelope")[:SHOWN_VERSIONS]
        )
        signed = _signed_versions(adapter)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": adapter,
            "adapter": adapter,
            "title": str(adapter),
            "trail": [
                (reverse("admin:registry_adapter_changelist"), "Adapters"),
                ("", adapter.adapter_id),
            ],
            "rows": [_version_row(version) for version in versions],
            "places": _places(signed),
            "stops": stops_on(
                adapter.tenant_id,
                adapter_id=adapter.adapter_id,
                version_ids={version.pk for version in (*versions, *signed)},
            ),
            "may_write": request.user.has_perm("registry.add_adapterversion"),
            "may_publish": request.user.has_perm("registry.publish_adapterversion"),
            "may_throw": request.user.has_perm("registry.add_killswitch"),
        }
        return TemplateResponse(request, "registry/adapter.html", context)


def _switch_on_adapter() -> QuerySet[KillSwitch]:
    thrown = KillSwitch.objects.filter(scope=KillScope.ADAPTER, lifted_at__isnull=True)
    return thrown.filter(tenant=OuterRef("tenant"), target_id=OuterRef("adapter_id"))


def _signed_versions(adapter: Adapter) -> list[AdapterVersion]:
    """What is active first, then what was: found however many drafts came after it."""
    ended_last = F("ended_at").desc(nulls_first=True)
    rows = adapter.versions.filter(state__in=SIGNED).order_by(ended_last)
    return list(rows.select_related("adapter").defer("envelope")[:SHOWN_VERSIONS])


def _version_row(version: AdapterVersion) -> dict[str, Any]:
    return {
        "version": version,
        "state": state_badge(version.state),
        "mode": mode_badge(version.highest_mode),
        "risk": risk_badge(version),
        "environment": environment_badge(version.environment),
    }


def _places(versions: list[AdapterVersion]) -> list[dict[str, Any]]:
    """Per environment the active version, and the one before it to roll back to."""
    environments = dict.fromkeys(version.environment for version in versions)
    return [place for place in (_place(name, versions) for name in environments) if place]


def _place(environment: str, versions: list[AdapterVersion]) -> dict[str, Any] | None:
    here = [v for v in versions if v.environment == environment]
    active = next((v for v in here if v.state == VersionState.PUBLISHED), None)
    older = [v for v in here if v.state == VersionState.DEPRECATED and v.ended_at]
    previous = max(older, key=lambda v: v.ended_at or v.created_at, default=None)
    if active is None and previous is None:
        return None
    return {
        "environment": environment,
        "active": active,
        "mode": mode_badge(active.highest_mode) if active else "",
        "previous": previous,
    }
