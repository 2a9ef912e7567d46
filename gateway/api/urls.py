"""Addresses of the gateway's REST, below /api/v1/."""

from django.urls import path

from gateway.api.discovery import DiscoverView
from gateway.api.metrics import CapabilityMetricsView
from gateway.api.plans import PlanVerifyView
from gateway.api.replaying import ReplayPacketView, ReplayView
from gateway.api.runs import RunListView, RunView, ToolManifestView
from gateway.api.tool_calls import CancelView, InputView, ToolCallListView, ToolCallView

urlpatterns = [
    path("tool-calls", ToolCallListView.as_view(), name="tool-calls"),  # first: asked most
    path("adapters/<str:adapter_id>/discover", DiscoverView.as_view(), name="adapter-discover"),
    path(
        "decision-records/<str:decision_id>/replay",
        ReplayView.as_view(),
        name="decision-record-replay",
    ),
    path(
        "decision-records/<str:decision_id>/replay-packet",
        ReplayPacketView.as_view(),
        name="decision-record-replay-packet",
    ),
    path("metrics/capabilities", CapabilityMetricsView.as_view(), name="metrics-capabilities"),
    path("plans/verify", PlanVerifyView.as_view(), name="plans-verify"),
    path("runs", RunListView.as_view(), name="runs"),
    path("runs/<str:run_id>", RunView.as_view(), name="run"),
    path("runs/<str:run_id>/tool-manifest", ToolManifestView.as_view(), name="tool-manifest"),
    path("tool-calls/<str:tool_call_id>", ToolCallView.as_view(), name="tool-call"),
    path("tool-calls/<str:tool_call_id>/cancel", CancelView.as_view(), name="tool-call-cancel"),
    path("tool-calls/<str:tool_call_id>/input", InputView.as_view(), name="tool-call-input"),
]
