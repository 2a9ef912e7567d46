"""Tells every request which tenant its person acts in."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from contextos.identity.acting_tenant import bind_acting_tenant, switch_tenant

__all__ = ["ActingTenantMiddleware", "switch_tenant"]


class ActingTenantMiddleware:
    """Sets `request.acting_tenant`, None for strangers; needs the session and the person."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Bind, then go on."""
        bind_acting_tenant(request)
        return self.get_response(request)
