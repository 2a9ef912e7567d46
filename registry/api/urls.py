"""Addresses of the registry's REST, below /api/v1/."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path
from django.views.decorators.http import conditional_page

from registry.api.views import (
    adapters,
    capabilities,
    kill_switches,
    lifecycle,
    packs,
    policies,
    versions,
)

_VERSIONS = "adapters/<str:adapter_id>/versions"
_VERSION = f"{_VERSIONS}/<str:version>"


def _route(address: str, view: type[Any], name: str) -> URLPattern:
    # Lists get an ETag of their bytes and every GET may be answered 304.
    handler: Callable[..., Any] = conditional_page(view.as_view())
    return path(address, handler, name=name)


urlpatterns = [
    _route("adapters", adapters.AdapterListView, "adapters"),
    _route("adapters/<str:adapter_id>", adapters.AdapterView, "adapter"),
    _route(_VERSIONS, versions.VersionListView, "versions"),
    _route(_VERSION, versions.VersionView, "version"),
    _route(f"{_VERSION}/findings", versions.FindingListView, "version-findings"),
    _route(f"{_VERSION}/diff", versions.DiffView, "version-diff"),
    *(
        _route(f"{_VERSION}/{step}", view, f"version-{step}")
        for step, view in lifecycle.STEP_VIEWS.items()
    ),
    _route("capabilities", capabilities.CapabilityListView, "capabilities"),
    _route("kill-switches", kill_switches.KillSwitchListView, "kill-switches"),
    _route("kill-switches/<str:switch_id>", kill_switches.KillSwitchView, "kill-switch"),
    _route("policies/simulate", policies.SimulateView, "policies-simulate"),
    *(_route(*route) for route in (*packs.ROUTES, *policies.ROUTES)),
]
