"""Who looks at a gateway page: what they may read, and whether they may settle anything."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from contextos.adminkit.links import may
from contextos.adminkit.tenancy import acting_tenant
from contextos.identity.access import roles_of
from gateway.models import ToolCall
from gateway.roles import SETTLERS, VALUE_READERS


def tenant_of(request: HttpRequest) -> str:
    """The tenant whose calls the person may read, or a refusal."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", ToolCall):
        raise PermissionDenied
    return str(tenant.pk)


def may_read_values(request: HttpRequest) -> bool:
    """Whether arguments and outputs are shown."""
    return _holds(request, VALUE_READERS)


def may_settle(request: HttpRequest) -> bool:
    """Whether the person cancels calls and records what became of them."""
    return _holds(request, SETTLERS)


def _holds(request: HttpRequest, roles: frozenset[str]) -> bool:
    tenant = acting_tenant(request)
    if tenant is None:
        return False
    if request.user.is_active and request.user.is_superuser:
        return True
    return not roles.isdisjoint(roles_of(request.user, str(tenant.pk)))
