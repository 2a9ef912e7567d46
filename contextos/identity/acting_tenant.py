"""Which tenant a signed-in person acts in, and changing it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest

from contextos.identity.access import tenants_of
from contextos.identity.actors import actor_of
from contextos.identity.events import record_event
from contextos.identity.models import Tenant

SESSION_KEY = "acting_tenant_id"


def bind_acting_tenant(request: Any) -> None:
    """Set `request.acting_tenant` and tell the person's permissions about it.

    Requests without a session cookie (every API call) cost no statement here.
    """
    request.acting_tenant = None
    if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
        _bind(request, chosen_tenant(request.user, request.session.get(SESSION_KEY)))


def chosen_tenant(user: Any, wanted: str | None) -> Tenant | None:
    """The tenant somebody chose if they may still act in it, else their first."""
    mine = tenants_of(user)
    chosen = mine.filter(pk=wanted).first() if wanted else None
    return chosen or mine.first()


def switch_tenant(request: HttpRequest, tenant_id: str) -> Tenant:
    """Act in another tenant from now on; a foreign one is as good as absent."""
    tenant = tenants_of(request.user).filter(pk=tenant_id).first()
    if tenant is None:
        raise Http404("No such tenant.")
    previous = request.session.get(SESSION_KEY)
    with transaction.atomic():
        record_event(
            tenant_id=tenant.pk,
            action="identity.tenant.entered",
            actor=actor_of(request),
            subject_kind="tenant",
            subject_id=tenant.pk,
        )
    if previous != tenant.pk:
        request.session[SESSION_KEY] = tenant.pk
        # A second factor confirmed for one tenant's sake is kept: it belongs to the person.
        request.session.cycle_key()
    _bind(request, tenant)
    return tenant


def _bind(request: Any, tenant: Tenant | None) -> None:
    request.acting_tenant = tenant
    request.user.acting_tenant_id = tenant.pk if tenant else None
