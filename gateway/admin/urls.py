"""Pages of the gateway that are not about one model: refusals, reconcile queue, dead letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter
from django.views.decorators.http import require_POST

from gateway.admin.consent_pages import consent_back_view, consent_view
from gateway.admin.dashboard import dashboard_view
from gateway.admin.dead_letters import dead_letters_view
from gateway.admin.discovering import discover_view
from gateway.admin.first_call import first_call_view
from gateway.admin.health import adapter_health_view, health_view
from gateway.admin.icons import fetch_icons_view
from gateway.admin.reconcile import call_view, queue_view
from gateway.admin.record_page import record_page, record_proof_view
from gateway.admin.refusals import refusal_view, refusals_view
from gateway.admin.replay_periods import period_view, periods_view
from gateway.admin.replaying import packet_view, replay_view

View = Callable[..., Any]


class NameConverter(StringConverter):
    """An id or a name; what no database can hold names nothing, so that it is not found."""

    regex = r"[^/\x00]+"


register_converter(NameConverter, "name")


def gateway_urls(guarded: Callable[[View], View]) -> list[URLPattern]:
    """The addresses, each behind the site's guard."""
    return [
        path("first-call/", guarded(first_call_view), name="gateway_first_call"),
        path("gateway/dashboard/", guarded(dashboard_view), name="gateway_dashboard"),
        path("gateway/health/", guarded(health_view), name="gateway_health"),
        path(
            "gateway/health/<name:adapter_id>/",
            guarded(adapter_health_view),
            name="gateway_adapter_health",
        ),
        path("records/<name:decision_id>/", guarded(record_page), name="gateway_record"),
        path(
            "records/<name:decision_id>/proof.json",
            guarded(record_proof_view),
            name="gateway_record_proof",
        ),
        path("gateway/refusals/", guarded(refusals_view), name="gateway_refusals"),
        path("gateway/refusals/<name:decision_id>/", guarded(refusal_view), name="gateway_refusal"),
        path(
            "gateway/replay/<name:decision_id>/packet/",
            guarded(require_POST(packet_view)),
            name="gateway_replay_packet",
        ),
        path("gateway/replays/", guarded(periods_view), name="gateway_replays"),
        path("gateway/replays/<name:job_id>/", guarded(period_view), name="gateway_replay_period"),
        path("gateway/replay/<name:decision_id>/", guarded(replay_view), name="gateway_replay"),
        path("gateway/reconcile/", guarded(queue_view), name="gateway_reconcile"),
        path(
            "gateway/reconcile/<name:tool_call_id>/",
            guarded(call_view),
            name="gateway_reconcile_call",
        ),
        path("consent/back", guarded(consent_back_view), name="gateway_consent_back"),
        path("consent/<name:request_id>/", guarded(consent_view), name="gateway_consent"),
        path("gateway/dead-letters/", guarded(dead_letters_view), name="gateway_dead_letters"),
        path(
            "gateway/discover/<name:adapter_pk>/", guarded(discover_view), name="gateway_discover"
        ),
        path(
            "gateway/icons/<name:version_id>/",
            guarded(fetch_icons_view),
            name="gateway_fetch_icons",
        ),
    ]
