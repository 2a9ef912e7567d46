"""The composition root's addresses; API paths have no trailing slash and never redirect."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import include, path, reverse
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from contextos.health import healthz, readyz
from contextos.identity.jwks import jwks_view
from contextos.metrics import metrics_view
from registry.api.schema_files import schema_file_view, schema_index_view


def front_door(request: HttpRequest) -> HttpResponse:
    """People who type the bare address mean the admin."""
    return HttpResponseRedirect(reverse("admin:index"))


urlpatterns = [
    path("api/v1/", include("gateway.api.urls")),  # first: every governed call looks for it
    path("", front_door, name="front-door"),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics_view, name="metrics"),
    path("api/v1/", include("registry.api.urls")),
    path("api/v1/", include("approvals.api.urls")),
    path("api/v1/", include("audit.api.urls")),
    path("schemas", schema_index_view),  # without the slash too: machines are not redirected
    path("schemas/", schema_index_view, name="schema-index"),
    path("schemas/<str:name>", schema_file_view, name="schema-file"),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerSplitView.as_view(), name="api-docs"),
    path(".well-known/jwks.json", jwks_view, name="jwks"),
]

handler400 = "contextos.error_pages.bad_request"
handler403 = "contextos.error_pages.forbidden"
handler404 = "contextos.error_pages.not_found"
handler500 = "contextos.error_pages.server_error"
