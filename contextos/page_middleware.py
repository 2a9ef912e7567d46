"""Middleware that only pages need: sessions, signed-in people, messages.

REST knows its callers by their tokens and keeps nothing between two requests, so what these would
find there is of no use; a governed call does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest

from contextos.identity.middleware import ActingTenantMiddleware

REST = "/api/v1/"


class _ForPages:
    """Passes REST by; stands before the middleware it narrows."""

    get_response: Callable[[HttpRequest], Any]

    def __call__(self, request: HttpRequest) -> Any:
        """Go on at once for REST, else do as usual."""
        if request.path_info.startswith(REST):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]


class PageSessionMiddleware(_ForPages, SessionMiddleware):
    """`request.session`."""


class PageAuthenticationMiddleware(_ForPages, AuthenticationMiddleware):
    """`request.user` from the session."""


class PageTenantMiddleware(_ForPages, ActingTenantMiddleware):
    """`request.acting_tenant`."""


class PageMessageMiddleware(_ForPages, MessageMiddleware):
    """What the last page had to say."""
