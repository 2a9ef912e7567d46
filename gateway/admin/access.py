"""Who looks at a gateway page: what they may read, and whether they may settle anything."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from audit.access import Window, window_of
from audit.admin.window import is_only_auditor, window_for
from audit.clearance import CLASS_OF_VALUES
from contextos.adminkit.links import may
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import ContextOSError
from contextos.identity.access import roles_of
from gateway.models import ToolCall
from gateway.roles import MODE_CORRECTORS, SETTLERS, VALUE_READERS


def tenant_of(request: HttpRequest) -> str:
    """The tenant whose calls the person may read, or a refusal."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", ToolCall):
        raise PermissionDenied
    return str(tenant.pk)


def record_window(request: HttpRequest, tenant_id: str) -> Window | None:
    """What of records and values the person may read now; None for those who read none."""
    try:
        return window_of(request.user, tenant_id)  # type: ignore[arg-type]
    except ContextOSError:
        return None


def may_read_values(request: HttpRequest) -> bool:
    """Whether arguments and outputs are shown; to auditors as far as they are cleared."""
    if is_only_auditor(request):
        return window_for(request).reads(CLASS_OF_VALUES)
    return _holds(request, VALUE_READERS)


def may_settle(request: HttpRequest) -> bool:
    """Whether the person cancels calls and records what became of them."""
    return _holds(request, SETTLERS)


def may_correct_modes(request: HttpRequest) -> bool:
    """Whether the person says that a call's declared mode is wrong."""
    return _holds(request, MODE_CORRECTORS)


def runs_the_tenant(request: HttpRequest) -> bool:
    """Whether the person is a platform admin here."""
    return _holds(request, frozenset({"platform_admin"}))


def _holds(request: HttpRequest, roles: frozenset[str]) -> bool:
    tenant = acting_tenant(request)
    if tenant is None:
        return False
    if request.user.is_active and request.user.is_superuser:
        return True
    return not roles.isdisjoint(roles_of(request.user, str(tenant.pk)))
