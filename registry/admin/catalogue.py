"""The capability catalogue: everything agents can reach, and the whole contract of each."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import badge, mode_badge, untrusted
from contextos.adminkit.paginator import BoundedPaginator
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.review.document_text import anchor_of
from contextos.review.labels import state_badge
from registry.admin.comparison import value_text
from registry.admin.filters import (
    AdapterFilter,
    ClassFilter,
    DomainFilter,
    EnvironmentFilter,
    GateFilter,
    ModeFilter,
    PublicationFilter,
)
from registry.admin.icon_display import icon_urls, icon_view
from registry.admin.stops import stops_on
from registry.labels import class_badge, environment_badge
from registry.models import Capability
from registry.selectors import manifest_of

# Shown as text of their own; everything else of the declaration is shown as JSON.
_CONTRACT = (
    ("idempotency", "Idempotency"),
    ("retry_policy", "Retries"),
    ("execution", "Execution"),
    ("rate_limit", "Rate limit"),
    ("arg_constraints", "Argument constraints"),
    ("evidence_keys", "Evidence keys"),
    ("decision_bindings", "Decisions"),
    ("policy_refs", "Policies"),
    ("errors", "Errors"),
    ("cost", "Cost"),
    ("tenants", "Only for tenants"),
    ("required_claims", "Required claims"),
)


@admin.register(Capability)
class CapabilityAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Ten thousand rows stay quick: an index in list order, no count of all rows."""

    list_per_page = 30  # a screenful and a bit; the page stays quick among ten thousand
    paginator = BoundedPaginator
    list_display = ["capability_id", "klass", "mode", "adapter", "where", "domain", "shown_gate"]
    list_filter = [
        PublicationFilter,
        ModeFilter,
        ClassFilter,
        EnvironmentFilter,
        AdapterFilter,
        DomainFilter,
        GateFilter,
    ]
    list_select_related = ["version__adapter"]
    search_fields = ["capability_id", "description"]
    search_help_text = "Part of the id or description."
    ordering = ["capability_id", "id"]
    nav_icon = "bolt"
    nav_order = 30
    empty_title = "Nothing is published yet"
    empty_text = (
        "The catalogue lists what agents can ask for: the capabilities of published adapters, "
        "with class and highest mode. Publish a reviewed version, and they appear here."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the envelopes of their versions."""
        return super().get_queryset(request).defer("version__envelope")

    @display(description="Class", ordering="capability_class")
    def klass(self, capability: Capability) -> SafeString:
        """What it does for an agent."""
        return class_badge(capability.capability_class)

    @display(description="Highest mode", ordering="mode_rank")
    def mode(self, capability: Capability) -> SafeString:
        """The worst a call can do."""
        return mode_badge(capability.approval_mode)

    @display(description="Adapter")
    def adapter(self, capability: Capability) -> str:
        """Who offers it, in which version."""
        return str(capability.version)

    @display(description="Environment", ordering="environment")
    def where(self, capability: Capability) -> SafeString:
        """Where it can be called."""
        return environment_badge(capability.environment)

    @display(description="Gate", ordering="gate")
    def shown_gate(self, capability: Capability) -> SafeString:
        """Who has to approve."""
        return badge(reveal_invisible(capability.gate)) if capability.gate else SafeString("")

    def get_urls(self) -> list[URLPattern]:
        """The pictures of capabilities, from our own origin."""
        guarded = self.admin_site.admin_view
        icon = path("icons/<slug:digest>.png", guarded(icon_view), name="registry_icon")
        return [icon, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The whole contract of one capability."""
        capability = self.get_object(request, object_id)
        if capability is None:
            raise Http404
        if not self.has_view_permission(request, capability):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": capability,
            "capability": capability,
            "title": str(capability),
            "trail": [
                (reverse("admin:registry_capability_changelist"), "Capabilities"),
                ("", reveal_invisible(capability.capability_id)),
            ],
            "may_throw": request.user.has_perm("registry.add_killswitch"),
            **_badges(capability),
            **_contract(capability),
        }
        return TemplateResponse(request, "registry/capability.html", context)


def _badges(capability: Capability) -> dict[str, Any]:
    return {
        "class_label": class_badge(capability.capability_class),
        "mode": mode_badge(capability.approval_mode),
        "environment_label": environment_badge(capability.environment),
        "state": state_badge(capability.version.state),
        "description": untrusted(capability.description) if capability.description else "",
        "anchor": anchor_of(capability.pointer),
        "stops": stops_on(
            capability.tenant_id,
            adapter_id=capability.version.adapter.adapter_id,
            version_ids=[capability.version_id],
            capability_ids=[capability.capability_id],
        ),
    }


def _contract(capability: Capability) -> dict[str, Any]:
    try:
        manifest = manifest_of(capability.version)
    except ContextOSError as refusal:
        return {"contract_fault": f"{refusal.message} {refusal.remediation}"}
    listed = manifest.get("capabilities")
    declared = next(
        (
            item
            for item in (listed if isinstance(listed, list) else ())
            if isinstance(item, dict) and item.get("capability_id") == capability.capability_id
        ),
        {},
    )
    schemas = manifest.get("schemas")
    return {
        "icon": icon_urls(capability.tenant_id, manifest).get(capability.capability_id, ""),
        "terms": [
            (label, _term(declared[name])) for name, label in _CONTRACT if declared.get(name)
        ],
        "schemas": [
            (title, reveal_invisible(str(ref)), value_text(_schema(schemas, ref)))
            for title, ref in (
                ("Input", declared.get("input_schema_ref")),
                ("Output", declared.get("output_schema_ref")),
            )
            if ref
        ],
    }


def _term(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return reveal_invisible("\n".join(value))
    return value_text(value)


def _schema(schemas: Any, ref: Any) -> Any:
    return schemas.get(ref) if isinstance(schemas, dict) and isinstance(ref, str) else None
