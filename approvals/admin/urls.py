"""The reports, and short addresses for messages that stay when the pages behind them move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path

from approvals.admin.frame import queue_url, url_of
from approvals.admin.reports import reports_view

View = Callable[..., Any]


def approvals_urls(guarded: Callable[[View], View]) -> list[URLPattern]:
    """The addresses, each behind the site's guard."""
    return [
        path("approvals/queue/", guarded(_queue), name="approvals_queue"),
        path("approvals/queue/<str:approval_id>/", guarded(_request), name="approvals_request"),
        path("approvals/reports/", guarded(reports_view), name="approvals_reports"),
    ]


def _queue(request: HttpRequest) -> HttpResponse:
    return HttpResponseRedirect(queue_url())


def _request(request: HttpRequest, approval_id: str) -> HttpResponse:
    return HttpResponseRedirect(url_of(approval_id))
