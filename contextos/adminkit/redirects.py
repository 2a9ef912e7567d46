"""Where to go next, when the address comes from the outside."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

NEXT = "next"


def safe_next(request: HttpRequest, *, default: str = "admin:index") -> str:
    """The wanted path if it stays on this host, else the default page."""
    wanted = request.POST.get(NEXT) or request.GET.get(NEXT) or ""
    stays = wanted.startswith("/") and url_has_allowed_host_and_scheme(
        wanted, allowed_hosts=None, require_https=request.is_secure()
    )
    return wanted if stays else reverse(default)
