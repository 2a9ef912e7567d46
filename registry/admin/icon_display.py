"""Icons on pages: only pictures we made, only from our own origin; else a placeholder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from contextos.adminkit.tenancy import acting_tenant
from registry.icons import declared_icons
from registry.models.icons import Icon
from registry.services.icons import source_digest


class IconUrls(dict[str, str]):
    """Capability id to the address of its picture; `declared` counts what manifests name."""

    declared: int = 0


def icon_urls(tenant_id: str, manifest: Mapping[str, Any]) -> IconUrls:
    """The pictures there are for the capabilities of a manifest."""
    wanted = {icon.capability_id: source_digest(icon.src) for icon in declared_icons(manifest)}
    rows = Icon.objects.filter(tenant_id=tenant_id, source_digest__in=set(wanted.values()))
    known = dict(rows.exclude(digest="").values_list("source_digest", "digest"))
    found = IconUrls(
        (name, reverse("admin:registry_icon", args=[known[source].removeprefix("sha256:")]))
        for name, source in wanted.items()
        if source in known
    )
    found.declared = len(wanted)
    return found


def icon_view(request: HttpRequest, digest: str) -> HttpResponse:
    """One picture by its content, of the tenant the person acts in."""
    tenant = acting_tenant(request)
    rows = Icon.objects.filter(tenant_id=tenant.pk if tenant else None, digest=f"sha256:{digest}")
    icon = rows.exclude(picture=None).first()
    if icon is None or icon.picture is None:
        raise Http404
    answer = HttpResponse(bytes(icon.picture), content_type="image/png")
    answer["Cache-Control"] = "private, max-age=31536000, immutable"
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Security-Policy"] = "default-src 'none'"
    return answer
