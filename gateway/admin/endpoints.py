"""Admin pages of endpoints: where the named servers of manifests stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from contextos.adminkit.actions import display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.tenancy import acting_tenant
from contextos.identity.actors import actor_of
from contextos.identity.models import Environment
from contextos.net.targets import parse_target
from gateway import endpoints
from gateway.models import Endpoint

if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[Endpoint]
else:
    _ModelForm = forms.ModelForm


class EndpointForm(_ModelForm):
    """One address."""

    environment = forms.ChoiceField(help_text="Calls of runs in this environment go there.")
    url = forms.CharField(
        label="Address",
        max_length=500,
        help_text="https and a public host, except in development.",
    )


@admin.register(Endpoint)
class EndpointAdmin(TenantScopedAdmin):
    """Addresses of named endpoints."""

    form = EndpointForm
    list_display = ["reference", "environment", "place", "changed_at"]
    list_filter = ["environment"]
    search_fields = ["name"]
    nav_icon = "lan"
    nav_order = 60
    empty_title = "No endpoints yet"
    empty_text = (
        "A manifest may name its server instead of giving a URL, as endpoint://payments. Enter "
        "here where that server stands in each environment; every change is recorded."
    )
    empty_action = ("Add an endpoint", "admin:gateway_endpoint_add")

    @display(description="Reference", ordering="name")
    def reference(self, row: Endpoint) -> str:
        """As manifests write it."""
        return str(row)

    @display(description="Host")
    def place(self, row: Endpoint) -> str:
        """The host alone: a path may hold a key."""
        return parse_target(row.url).origin

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Another name or environment is another endpoint."""
        return [] if obj is None else ["name", "environment", "place", "changed_at"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Who only reads sees the host, not the path."""
        if obj is None:
            return ["name", "environment", "url"]
        shown = "url" if self.has_change_permission(request, obj) else "place"
        return ["name", "environment", shown, "changed_at"]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The environments that the tenant uses."""
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        if "environment" in form.base_fields:
            tenant = acting_tenant(request)
            used = Environment.objects.filter(tenant_id=str(tenant.pk) if tenant else "")
            names = used.values_list("name", flat=True)
            form.base_fields["environment"].choices = [(name, name) for name in sorted(names)]
        return form

    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> Endpoint:
        """Keep it for the acting tenant."""
        values = form.cleaned_data
        return endpoints.add_endpoint(
            tenant_id=form.instance.tenant.pk,
            actor=actor_of(request),
            **{name: values[name] for name in ("environment", "name", "url")},
        )

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> Endpoint:
        """Move it."""
        return endpoints.move_endpoint(
            endpoint_pk=form.instance.pk, url=form.cleaned_data["url"], actor=actor_of(request)
        )

    def perform_delete(self, request: HttpRequest, obj: Any) -> None:
        """Remove it."""
        endpoints.remove_endpoint(endpoint_pk=obj.pk, actor=actor_of(request))
