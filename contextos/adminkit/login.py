"""Signing in with a password: the form's words, and the page after too many wrong ones."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address
from math import ceil
from typing import Any

from axes.helpers import get_cool_off
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from contextos.adminkit.unfold_seam import ThemedLoginForm

HTTP_TOO_MANY_REQUESTS = 429


class SignInForm(ThemedLoginForm):
    """One sentence for every failure, so that it does not tell which names exist."""

    error_messages = {
        **ThemedLoginForm.error_messages,
        "invalid_login": (
            "This name and password do not open an account here. Check both; capital letters count."
        ),
        "access_ended": (
            "Your access ended on %(ended)s UTC. Ask a platform admin whether it should be longer."
        ),
    }

    def get_invalid_login_error(self) -> ValidationError:
        """Whoever gave the right password may learn that their time is over."""
        ended = getattr(self.request, "access_ended_at", None)
        if ended is None:
            refusal: ValidationError = super().get_invalid_login_error()
            return refusal
        said = {"ended": f"{ended:%Y-%m-%d at %H:%M}"}
        return ValidationError(self.error_messages["access_ended"], "access_ended", said)


def address_behind_proxy(request: HttpRequest) -> str | None:
    """Who asked the proxy in front: the last entry, which the proxy itself wrote.

    Without it every visitor has the proxy's address, and a stranger's wrong guesses would pause
    the owner of the name; entries further left are whatever the visitor made up.
    """
    seen = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    try:
        return str(ip_address(seen))
    except ValueError:
        return request.META.get("REMOTE_ADDR")


def locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, Any] | None
) -> HttpResponse:
    """A page that says when to try again and whom to ask; the same for known and unknown names."""
    pause: timedelta = get_cool_off(request) or timedelta(minutes=15)
    context = {
        "minutes": max(1, ceil(pause.total_seconds() / 60)),
        "try_again_at": timezone.now() + pause,
    }
    page = render(request, "errors/locked.html", context, status=HTTP_TOO_MANY_REQUESTS)
    page["Retry-After"] = str(int(pause.total_seconds()))
    return page
