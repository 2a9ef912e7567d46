"""REST permissions by principal: any, people only, or holders of a role."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from contextos.core.errors import coded_error
from contextos.identity.principals import Principal, principal_of


class IsAuthenticatedPrincipal(BasePermission):
    """Somebody with a verified token."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """A session alone opens no API: its cookie would be sent by any page."""
        return isinstance(request.user, Principal)


class IsPerson(IsAuthenticatedPrincipal):
    """A person; agents are told so."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """403 for agents."""
        if not super().has_permission(request, view):
            return False
        if not principal_of(request).is_person:
            raise coded_error("auth.person_needed")
        return True


class HasRole(IsPerson):
    """A person who holds one of the view's `required_roles`; a view that names none denies."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """403 naming the roles that would do."""
        if not super().has_permission(request, view):
            return False
        wanted = frozenset(getattr(view, "required_roles", ()))
        if wanted.isdisjoint(principal_of(request).roles):
            raise coded_error("role.missing", data={"roles": sorted(wanted)})
        return True
