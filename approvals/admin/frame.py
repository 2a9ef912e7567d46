"""What every page about requests carries: the site's context, a title, a trail."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from approvals.models import ApprovalRequest


def frame(
    request: HttpRequest, title: str, *, above: tuple[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """The context of a page below the queue; `above` is one more page in between."""
    trail = [(queue_url(), "Approvals"), *([above] if above else []), ("", title)]
    return {**admin.site.each_context(request), "title": title, "trail": trail, **more}


def queue_url() -> str:
    """The list of what waits."""
    return reverse("admin:approvals_approvalrequest_changelist")


def url_of(request: ApprovalRequest | str, page: str = "change") -> str:
    """A page of one request."""
    pk = request if isinstance(request, str) else request.pk
    return reverse(f"admin:approvals_approvalrequest_{page}", args=[pk])


def page_url(page: str) -> str:
    """A page about several requests."""
    return reverse(f"admin:approvals_approvalrequest_{page}")
