"""The window that a signed-in person looks through, and lists limited to it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest

from audit.access import Window, window_of
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import ContextOSError, coded_error
from contextos.identity.backends import acting_roles
from contextos.identity.models import User
from contextos.identity.roles import AUDITOR

_KEPT = "_audit_window"


def window_for(request: HttpRequest) -> Window:
    """The window of the person at hand, read once a request; the refusal says why there is none."""
    kept: Window | None = getattr(request, _KEPT, None)
    if kept is not None:
        return kept
    tenant = acting_tenant(request)
    if tenant is None or not isinstance(request.user, User):
        raise PermissionDenied
    found = auditor_window(request.user, str(tenant.pk))
    setattr(request, _KEPT, found)
    return found


def auditor_window(user: User, tenant_id: str) -> Window:
    """The window of a signed-in person; an ended one is a page that says so."""
    try:
        return window_of(user, tenant_id)
    except ContextOSError as refusal:
        raise PermissionDenied from refusal


def within_window(
    request: HttpRequest, rows: QuerySet[Any], field: str = "created_at"
) -> QuerySet[Any]:
    """Auditors see the period of their access on every list; nobody else has one."""
    return window_for(request).limit(rows, field) if is_only_auditor(request) else rows


def require_within(request: HttpRequest, *moments: datetime) -> None:
    """Refuse an auditor the page of something of another period."""
    if is_only_auditor(request):
        try:
            window_for(request).require(*moments)
        except ContextOSError as refusal:
            raise PermissionDenied from refusal


def span_within(
    request: HttpRequest, since: datetime, until: datetime
) -> tuple[datetime, datetime]:
    """What of a time an auditor may read, refused when that is nothing; all of it for others."""
    if not is_only_auditor(request):
        return since, until
    window = window_for(request)
    start, end = max(since, window.data_from or since), min(until, window.data_until or until)
    if start >= end:
        refusal = coded_error("auditor.outside_window", data=window.as_record())
        raise PermissionDenied from refusal
    return start, end


def is_only_auditor(request: HttpRequest) -> bool:
    """Whether what the person may read here, they may read as an auditor."""
    return is_only_auditor_here(request.user)


def is_only_auditor_here(user: Any) -> bool:
    """The same of a person bound to the tenant they act in."""
    return not user.is_superuser and acting_roles(user) == {AUDITOR}
