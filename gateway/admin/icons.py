"""The button that lets the server fetch a version's icons."""

from __future__ import annotations

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from contextos.identity.actors import actor_of
from gateway.icons import fetch_icons
from registry.models import AdapterVersion


@require_POST
def fetch_icons_view(request: HttpRequest, version_id: str) -> HttpResponse:
    """Only on a reviewer's explicit wish, never by merely looking at a page."""
    page = admin.site.get_model_admin(AdapterVersion)
    version = page.get_object(request, version_id)
    if not isinstance(version, AdapterVersion):
        raise Http404
    if not request.user.has_perm("registry.review_adapterversion"):
        raise PermissionDenied
    outcome = fetch_icons(version=version, actor=actor_of(request))
    words = f"{outcome.made} icons are drawn anew."
    if outcome.refused:
        words += f" {outcome.refused} were refused and keep the placeholder."
    messages.success(request, words)
    back = reverse("admin:registry_adapterversion_change", args=[version.pk])
    return HttpResponseRedirect(f"{back}?tab=capabilities")
