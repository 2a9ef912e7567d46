"""A site of its own with one page per base class: the kit is tested without any app's pages."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import path

from contextos.admin_site import ContextOSAdminSite
from contextos.adminkit.base import (
    InstallationAdmin,
    ObjectPermissionAdmin,
    ReadOnlyAdmin,
    TenantScopedAdmin,
)
from contextos.adminkit.paginator import BoundedPaginator
from contextos.identity.actors import actor_of
from contextos.identity.models import Agent, Environment, IssuedToken, Membership, Tenant, User
from contextos.identity.services import register_agent, update_agent

FIELDS = ["name", "role", "owner", "max_mode", "agent_urn", "workload_identity"]


class AgentPage(TenantScopedAdmin):
    """Adds, changes and deletes through services."""

    fields = ["agent_id", *FIELDS]
    search_fields = ["name"]
    list_display = ["agent_id", "name"]
    paginator = BoundedPaginator
    empty_title = "No agents yet"
    empty_text = "An agent is a workload that proposes tool calls."

    def perform_create(self, request: HttpRequest, form: ModelForm[Any]) -> Model:
        """Register."""
        values = form.cleaned_data
        return register_agent(
            tenant_id=form.instance.tenant.pk,
            actor=actor_of(request),
            **{name: values[name] for name in ["agent_id", *FIELDS]},
        )

    def perform_update(self, request: HttpRequest, form: ModelForm[Any]) -> Model:
        """Change."""
        values = form.cleaned_data
        return update_agent(
            agent_pk=form.instance.pk,
            actor=actor_of(request),
            **{name: values[name] for name in FIELDS},
        )

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Deleting follows changing here, so that the delete view is reached at all."""
        return self.has_change_permission(request, obj)

    def perform_delete(self, request: HttpRequest, obj: Model) -> None:
        """Delete."""
        obj.delete()


class PeoplePage(TenantScopedAdmin):
    """Reaches the tenant over a relation to many."""

    tenant_lookup = "memberships__tenant"
    fields = ["username"]


class TokenPage(ReadOnlyAdmin, TenantScopedAdmin):
    """Read-only."""


class MembershipPage(TenantScopedAdmin):
    """No service named: nothing can be changed."""


class TenantPage(ObjectPermissionAdmin):
    """Needs a permission for each tenant."""

    fields = ["name"]


class EnvironmentPage(TenantScopedAdmin):
    """Listed only to be pointed at."""


class GroupPage(InstallationAdmin):
    """Seen by those who run the installation."""


site = ContextOSAdminSite(name="admin")
site.register(Agent, AgentPage)
site.register(User, PeoplePage)
site.register(IssuedToken, TokenPage)
site.register(Membership, MembershipPage)
site.register(Tenant, TenantPage)
site.register(Environment, EnvironmentPage)
site.register(Group, GroupPage)

urlpatterns = [path("admin/", site.urls)]
handler403 = "contextos.error_pages.forbidden"
handler404 = "contextos.error_pages.not_found"
