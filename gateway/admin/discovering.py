"""The page that asks an MCP server what it offers and opens the draft that comes of it."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from contextos.core.errors import ContextOSError
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.identity.models.tenants import EnvironmentName
from gateway.admin.frame import frame
from gateway.discovery import Discovery, discover
from registry.models import Adapter

_ANY = ("", "that of the newest version")


class DiscoverForm(forms.Form):
    """Where; empty for an adapter that has a version."""

    environment = forms.ChoiceField(required=False, choices=[_ANY, *EnvironmentName.choices])
    endpoint_ref = forms.CharField(
        label="Endpoint",
        required=False,
        max_length=500,
        help_text="A URL, or endpoint://name. Empty: the one of the newest version.",
    )


def discover_view(request: HttpRequest, adapter_pk: str) -> HttpResponse:
    """Ask; on a yes connect, draft, and show the draft."""
    adapter = admin.site.get_model_admin(Adapter).get_object(request, adapter_pk)
    if not isinstance(adapter, Adapter):
        raise Http404
    if not request.user.has_perm("registry.add_adapterversion"):
        raise PermissionDenied
    form = DiscoverForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        found = _discovered(request, adapter, form)
        if found is not None:
            messages.success(request, _said(found))
            draft = reverse("admin:registry_adapterversion_change", args=[found.version.pk])
            return HttpResponseRedirect(draft)
    back = reverse("admin:registry_adapter_change", args=[adapter.pk])
    above = (back, adapter.adapter_id)
    context = frame(request, "Discover", above=above, form=form, adapter=adapter, back=back)
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "gateway/discover.html", context, status=status)


def _discovered(request: HttpRequest, adapter: Adapter, form: DiscoverForm) -> Discovery | None:
    asked: dict[str, Any] = form.cleaned_data
    try:
        return discover(
            tenant_id=adapter.tenant_id,
            adapter_id=adapter.adapter_id,
            author=cast(User, request.user),
            actor=actor_of(request),
            environment=asked["environment"] or None,
            endpoint_ref=asked["endpoint_ref"] or None,
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return None


def _said(found: Discovery) -> str:
    drafted = found.drafted
    return (
        f"A draft of {len(drafted.manifest['capabilities'])} tools: {len(drafted.added)} new, "
        f"{len(drafted.changed)} changed, {len(drafted.gone)} gone. Nothing was granted."
    )
