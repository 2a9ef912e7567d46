"""Actors made from people, requests and principals, and the reach of their authority."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.models import User


def person(user: User, tenant_id: str | None) -> Actor:
    """A person acting under the authority of one tenant; None = of the installation."""
    return Actor(kind="user", id=user.user_id, tenant_id=tenant_id, display=user.username)


def actor_of(request: HttpRequest) -> Actor:
    """The signed-in person; superusers act for the installation, all others for their tenant."""
    user = request.user
    if isinstance(user, AnonymousUser) or not user.is_authenticated:
        raise PermissionDenied
    if user.is_superuser:
        return person(user, None)
    if user.acting_tenant_id is None:
        raise PermissionDenied
    return person(user, user.acting_tenant_id)


def require_authority(actor: Actor, tenant_id: str) -> None:
    """Refuse an actor of another tenant, whatever page or command let them come this far."""
    if actor.tenant_id is not None and actor.tenant_id != tenant_id:
        raise coded_error("tenant.forbidden")
