"""Admin pages of tenants and environments."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import TabularInline, TenantScopedAdmin
from contextos.adminkit.display import badge
from contextos.identity import services
from contextos.identity.acting_tenant import switch_tenant
from contextos.identity.actors import actor_of
from contextos.identity.models import Environment, Tenant
from contextos.identity.models.tenants import RUN_LIMITS


def active_badge(is_active: bool) -> SafeString:
    """On or off, in words."""
    return badge("active", "success") if is_active else badge("switched off", "danger")


class EnvironmentInline(TabularInline):
    """The environments a tenant uses."""

    model = Environment
    fields = ["name", "is_active"]


@admin.register(Tenant)
class TenantAdmin(TenantScopedAdmin):
    """The tenant one acts in; installation administrators add others and switch to them."""

    tenant_lookup = "pk"
    list_display = ["name", "tenant_id", "default_environment", "state", "created_at"]
    search_fields = ["tenant_id", "name"]
    inlines = [EnvironmentInline]
    nav_icon = "domain"
    nav_order = 10
    empty_title = "No tenant yet"
    empty_text = "A tenant is a customer or business unit. Everything governed belongs to one."
    empty_action = ("Add a tenant", "admin:identity_tenant_add")

    @display(description="State")
    def state(self, tenant: Tenant) -> SafeString:
        """Whether it may be used."""
        return active_badge(tenant.is_active)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only the installation's own people; they need not act in a tenant for it."""
        return bool(request.user.is_active and request.user.is_superuser)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """The id never changes; switching off locks out the tenant's own people as well."""
        if obj is None:
            return []
        own = [] if request.user.is_superuser else ["is_active"]
        return ["tenant_id", "created_at", *own]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A new tenant is active."""
        given = ["tenant_id", "name", "default_environment"]
        return given if obj is None else [*given, *RUN_LIMITS, "is_active", "created_at"]

    def perform_create(self, request: HttpRequest, form: ModelForm[Any]) -> Tenant:
        """Create it."""
        return services.create_tenant(
            tenant_id=form.cleaned_data["tenant_id"],
            name=form.cleaned_data["name"],
            default_environment=form.cleaned_data["default_environment"],
            actor=actor_of(request),
        )

    def perform_update(self, request: HttpRequest, form: ModelForm[Any]) -> Tenant:
        """Change it, and switch it off or on if that was asked."""
        actor, values = actor_of(request), form.cleaned_data
        tenant = services.update_tenant(
            tenant_id=form.instance.pk,
            name=values["name"],
            default_environment=values["default_environment"],
            actor=actor,
        )
        tenant = services.set_run_limits(
            tenant_id=tenant.pk,
            limits={name: values[name] for name in RUN_LIMITS if name in values},
            actor=actor,
        )
        if "is_active" in form.changed_data:
            tenant = services.set_tenant_active(
                tenant_id=tenant.pk, active=values["is_active"], actor=actor
            )
        return tenant

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> Any:
        """Go on in the new tenant, since only there it can be seen."""
        tenant = cast(Tenant, obj)
        switch_tenant(request, tenant.pk)
        self.message_user(request, f"{tenant.name} was added. You now act in it.")
        return HttpResponseRedirect(reverse("admin:identity_tenant_change", args=[tenant.pk]))


@admin.register(Environment)
class EnvironmentAdmin(TenantScopedAdmin):
    """The environments a tenant uses."""

    list_display = ["name", "state"]
    nav_icon = "deployed_code"
    nav_order = 20
    empty_title = "No environment yet"
    empty_text = "Adapters run in environments. A tenant starts with its default one."

    @display(description="State")
    def state(self, environment: Environment) -> SafeString:
        """Whether it may be used."""
        return active_badge(environment.is_active)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """A name is chosen once."""
        return [] if obj is None else ["name"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A new environment is active."""
        return ["name"] if obj is None else ["name", "is_active"]

    def perform_create(self, request: HttpRequest, form: ModelForm[Any]) -> Environment:
        """Add it to the acting tenant."""
        return services.add_environment(
            tenant_id=form.instance.tenant.pk,
            name=form.cleaned_data["name"],
            actor=actor_of(request),
        )

    def perform_update(self, request: HttpRequest, form: ModelForm[Any]) -> Environment:
        """Switch it off or on."""
        return services.set_environment_active(
            environment_id=form.instance.pk,
            active=form.cleaned_data["is_active"],
            actor=actor_of(request),
        )
