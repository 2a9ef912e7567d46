"""The roles, to be read: they are declared in code, not on a page."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.models import Group

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin
from contextos.identity.roles import ROLES

admin.site.unregister(Group)


@admin.register(Group)
class RoleAdmin(ReadOnlyAdmin):
    """What each role is for and what it may do."""

    list_display = ["name", "purpose"]
    fields = ["name", "purpose", "permission_names"]
    readonly_fields = ["purpose", "permission_names"]
    nav_group = "Identity"
    nav_title = "Roles"
    nav_icon = "badge"
    nav_order = 50
    empty_title = "No roles yet"
    empty_text = "Run `manage.py migrate`; it writes the seven roles."

    @display(description="What it is for")
    def purpose(self, role: Group) -> str:
        """One sentence."""
        return ROLES.get(role.name, "A group that is not one of the seven roles.")

    @display(description="Permissions")
    def permission_names(self, role: Group) -> str:
        """In words, one after another."""
        return ", ".join(sorted(permission.name for permission in role.permissions.all())) or "none"
