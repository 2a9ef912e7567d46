"""Pages of the gateway that are not about one model: refusals, reconcile queue, dead letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path

from gateway.admin.dead_letters import dead_letters_view
from gateway.admin.icons import fetch_icons_view
from gateway.admin.reconcile import call_view, queue_view
from gateway.admin.refusals import refusal_view, refusals_view

View = Callable[..., Any]


def gateway_urls(guarded: Callable[[View], View]) -> list[URLPattern]:
    """The addresses, each behind the site's guard."""
    return [
        path("gateway/refusals/", guarded(refusals_view), name="gateway_refusals"),
        path("gateway/refusals/<str:decision_id>/", guarded(refusal_view), name="gateway_refusal"),
        path("gateway/reconcile/", guarded(queue_view), name="gateway_reconcile"),
        path(
            "gateway/reconcile/<str:tool_call_id>/",
            guarded(call_view),
            name="gateway_reconcile_call",
        ),
        path("gateway/dead-letters/", guarded(dead_letters_view), name="gateway_dead_letters"),
        path(
            "gateway/icons/<str:version_id>/",
            guarded(fetch_icons_view),
            name="gateway_fetch_icons",
        ),
    ]
