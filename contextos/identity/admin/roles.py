"""The roles, to be read: they are declared in code, not on a page."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin
from contextos.identity.roles import ROLES, in_words

admin.site.unregister(Group)


@admin.register(Group)
class RoleAdmin(ReadOnlyAdmin):
    """What each role is for and what it may do."""

    list_display = ["shown_name", "purpose", "code"]
    fields = ["shown_name", "code", "purpose", "permission_names"]
    readonly_fields = ["shown_name", "code", "purpose", "permission_names"]
    ordering = ["pk"]  # as they were declared: the weightiest first
    counted_as = "role"
    nav_group = "Identity"
    nav_title = "Roles"
    nav_icon = "badge"
    nav_order = 50
    empty_title = "No roles yet"
    empty_text = "Run `manage.py migrate`; it writes the seven roles."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        """The seven: other groups, such as those that keep a gate, belong to one tenant each."""
        rows: QuerySet[Group] = super().get_queryset(request)
        return rows.filter(name__in=ROLES)

    def name_of(self, role: Group) -> str:
        """What the page of one role is called."""
        return in_words(role.name)

    @display(description="Role", ordering="name")
    def shown_name(self, role: Group) -> str:
        """As people say it."""
        return in_words(role.name)

    @display(description="In commands and tokens")
    def code(self, role: Group) -> str:
        """As programs write it."""
        return role.name

    @display(description="What it is for")
    def purpose(self, role: Group) -> str:
        """One sentence."""
        return ROLES[role.name]

    @display(description="Permissions")
    def permission_names(self, role: Group) -> str:
        """In words, one after another."""
        return ", ".join(sorted(permission.name for permission in role.permissions.all())) or "none"
