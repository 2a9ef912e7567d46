"""Addresses that messages carry: they lead to pages that ask for sign-in and second factor."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse


def request_url(approval_id: str) -> str:
    """The page of one request, as a message names it."""
    return f"{settings.PUBLIC_URL}{request_path(approval_id)}"


def request_path(approval_id: str) -> str:
    """The same page, for links between pages."""
    return reverse("admin:approvals_request", args=[approval_id])


def preferences_url() -> str:
    """Where people choose what they hear of."""
    return f"{settings.PUBLIC_URL}{reverse('admin:approvals_my_notifications')}"
