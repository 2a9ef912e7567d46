"""What the global search finds in the registry: adapters and capabilities."""

from __future__ import annotations

from urllib.parse import urlencode

from django.db.models import Q
from django.http import HttpRequest

from contextos.adminkit.display import mode_badge
from contextos.adminkit.finding import SHOWN, Hit, Hits, register_finder
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.text import single_line
from registry.models import Adapter, Capability
from registry.selectors import adapters_of, catalogue


def find_adapters(request: HttpRequest, words: str) -> Hits | None:
    """By id, name or owner."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", Adapter):
        return None
    wanted = Q(adapter_id__icontains=words) | Q(name__icontains=words)
    rows = adapters_of(tenant.pk).filter(wanted | Q(owner_role__icontains=words))[:SHOWN]
    hits = [
        Hit(
            single_line(row.adapter_id),
            admin_url(Adapter, "change", row.pk),
            detail=single_line(row.name, limit=120),
        )
        for row in rows
    ]
    more = f"{admin_url(Adapter)}?{urlencode({'q': words})}"
    return Hits("Adapters", "extension", hits, more)


def find_capabilities(request: HttpRequest, words: str) -> Hits | None:
    """Published ones, by id or by what they are said to do."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", Capability):
        return None
    wanted = Q(capability_id__icontains=words) | Q(description__icontains=words)
    rows = (
        catalogue(tenant.pk)
        .filter(wanted)
        .select_related("version__adapter")
        .defer("version__envelope")
        .order_by("capability_id", "id")[:SHOWN]
    )
    hits = [
        Hit(
            single_line(row.capability_id),
            admin_url(Capability, "change", row.pk),
            detail=f"{row.version}, {row.environment}",
            label=mode_badge(row.approval_mode),
        )
        for row in rows
    ]
    more = f"{admin_url(Capability)}?{urlencode({'q': words})}"
    return Hits("Capabilities", "bolt", hits, more)


register_finder(key="registry.adapters", find=find_adapters, order=10)
register_finder(key="registry.capabilities", find=find_capabilities, order=20)
