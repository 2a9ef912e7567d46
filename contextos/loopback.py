"""Tells whether a request comes from this machine itself."""

from __future__ import annotations

import ipaddress

from django.http import HttpRequest

_FORWARDED = (
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
)


def is_loopback_caller(request: HttpRequest) -> bool:
    """True for a direct loopback connection; a proxy on this machine speaks for somebody else."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
