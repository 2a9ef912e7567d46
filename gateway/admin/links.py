"""From a name in a record to the page of what it names, in the tenant at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from contextos.adminkit.links import admin_url, may
from contextos.core.text import single_line
from contextos.identity.models import Agent, IssuedToken
from gateway.explaining import Ref
from gateway.models import Run, ToolCall
from registry.models import (
    AdapterVersion,
    Capability,
    ContextPackVersion,
    KillSwitch,
    PolicyBundleVersion,
)


@dataclass(frozen=True, slots=True)
class Link:
    """A name, and its address where there is a page that the person may open."""

    text: str
    url: str = ""
    kind: str = ""


def link_to(
    request: HttpRequest, tenant_id: str, ref: Ref, *, bundles: tuple[str, ...] = ()
) -> Link:
    """The link; a rule leads to the bundle among `bundles`, which the record names."""
    text = single_line(ref.text, limit=160)
    if ref.kind == "rule":
        return Link(text, _first_bundle(request, tenant_id, bundles), "rule")
    find = _FINDERS.get(ref.kind)
    return Link(text, find(request, tenant_id, ref.id) if find else "", ref.kind)


def run_url(run_id: str) -> str:
    """The page of a run."""
    return admin_url(Run, "change", run_id)


def call_url(tool_call_id: str) -> str:
    """The page of a call."""
    return admin_url(ToolCall, "change", tool_call_id)


def refusal_url(decision_id: str) -> str:
    """The page that explains a refusal."""
    return reverse("admin:gateway_refusal", args=[decision_id])


def version_link(request: HttpRequest, tenant_id: str, name: str) -> str:
    """The page of `adapter_id@version`."""
    adapter_id, _, version = name.rpartition("@")
    if not may(request, "view", AdapterVersion):
        return ""
    rows = AdapterVersion.objects.filter(tenant_id=tenant_id, version=version)
    found = rows.filter(adapter__adapter_id=adapter_id).values_list("pk", flat=True).first()
    return admin_url(AdapterVersion, "change", found) if found else ""


def pack_link(request: HttpRequest, tenant_id: str, ref: str) -> str:
    """The page of a Context Pack; without a ref their list."""
    if not may(request, "view", ContextPackVersion):
        return ""
    pack_id, _, version = ref.rpartition("@")
    rows = ContextPackVersion.objects.filter(tenant_id=tenant_id, pack_id=pack_id, version=version)
    found = rows.values_list("pk", flat=True).first() if ref else None
    return (
        admin_url(ContextPackVersion, "change", found) if found else _list(ContextPackVersion, ref)
    )


def bundle_link(request: HttpRequest, tenant_id: str, ref: str) -> str:
    """The page of a policy bundle; without a ref their list."""
    if not may(request, "view", PolicyBundleVersion):
        return ""
    bundle_id, _, version = ref.rpartition("@")
    rows = PolicyBundleVersion.objects.filter(tenant_id=tenant_id, bundle_id=bundle_id)
    found = rows.filter(version=version).values_list("pk", flat=True).first() if ref else None
    if found:
        return admin_url(PolicyBundleVersion, "change", found)
    return _list(PolicyBundleVersion, ref)


def _list(model: type[ContextPackVersion | PolicyBundleVersion], ref: str) -> str:
    return "" if ref else admin_url(model)


def _first_bundle(request: HttpRequest, tenant_id: str, bundles: tuple[str, ...]) -> str:
    return bundle_link(request, tenant_id, bundles[0]) if bundles else ""


def _capability(request: HttpRequest, tenant_id: str, capability_id: str) -> str:
    if not may(request, "view", Capability) or not capability_id:
        return ""
    rows = Capability.objects.filter(tenant_id=tenant_id, capability_id=capability_id)
    found = rows.order_by("-is_active", "-id").values_list("pk", flat=True).first()
    return admin_url(Capability, "change", found) if found else ""


def _agent(request: HttpRequest, tenant_id: str, agent_id: str) -> str:
    if not may(request, "view", Agent):
        return ""
    rows = Agent.objects.filter(tenant_id=tenant_id, agent_id=agent_id)
    found = rows.values_list("pk", flat=True).first()
    return admin_url(Agent, "change", found) if found else ""


def _run(request: HttpRequest, tenant_id: str, run_id: str) -> str:
    known = Run.objects.filter(tenant_id=tenant_id, pk=run_id).exists()
    return run_url(run_id) if known else ""


def _switch(request: HttpRequest, tenant_id: str, switch_id: str) -> str:
    return admin_url(KillSwitch, "change", switch_id) if may(request, "view", KillSwitch) else ""


def _tokens(request: HttpRequest, tenant_id: str, name: str) -> str:
    return admin_url(IssuedToken) if may(request, "view", IssuedToken) else ""


def calls_url(**wanted: str) -> str:
    """The list of calls with filters set."""
    return f"{admin_url(ToolCall)}?{urlencode(wanted)}"


_FINDERS: dict[str, Callable[[HttpRequest, str, str], str]] = {
    "agent": _agent,
    "bundle": bundle_link,
    "capability": _capability,
    "pack": pack_link,
    "run": _run,
    "switch": _switch,
    "token": _tokens,
    "version": version_link,
}
