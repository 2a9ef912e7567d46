"""The admin site: nobody gets in without a second factor; every page knows its tenant."""

from __future__ import annotations

from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib.auth.views import PasswordChangeView
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.utils.functional import SimpleLazyObject
from django.views.decorators.cache import never_cache

from contextos.adminkit.finding import LONGEST, find_everywhere
from contextos.adminkit.front_page import front_page
from contextos.adminkit.login import SignInForm
from contextos.adminkit.redirects import NEXT, safe_next
from contextos.adminkit.site import ThemedSite
from contextos.identity.second_factor import is_verified


class ContextOSAdminSite(ThemedSite):
    """Unfold's site, guarded by the second factor."""

    site_title = "ContextOS"
    site_header = "ContextOS"
    index_title = "Front page"
    enable_nav_sidebar = True
    login_form = SignInForm

    def has_permission(self, request: HttpRequest) -> bool:
        """Active staff who proved their second factor in this session."""
        return super().has_permission(request) and is_verified(request)

    @method_decorator(never_cache)
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Password first; whoever has given it goes on to the second factor."""
        if request.method == "GET" and super().has_permission(request):
            if is_verified(request):
                return HttpResponseRedirect(safe_next(request))
            query = urlencode({NEXT: safe_next(request)})
            return HttpResponseRedirect(f"{reverse('admin:verify')}?{query}")
        return super().login(request, extra_context)

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """One's own password, changed by the service that records it."""
        from contextos.identity.forms import OwnPasswordForm

        view = PasswordChangeView.as_view(
            form_class=OwnPasswordForm,
            success_url=reverse("admin:password_change_done"),
            extra_context=self.each_context(request) | (extra_context or {}),
        )
        return cast(TemplateResponse, view(request))

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Our own pages before Django's; `logout` must also serve people without a factor."""
        from approvals.admin.urls import approvals_urls
        from audit.admin.urls import audit_urls
        from contextos.identity import views
        from gateway.admin.urls import gateway_urls

        guarded = self.admin_view
        own: list[URLPattern | URLResolver] = [
            path("logout/", self.logout, name="logout"),
            path("verify/", views.verify, name="verify"),
            path("account/", guarded(views.account), name="account"),
            path(
                "account/authenticator/",
                guarded(views.replace_authenticator),
                name="account_authenticator",
            ),
            path(
                "account/recovery-codes/",
                guarded(views.renew_recovery_codes),
                name="account_recovery_codes",
            ),
            path("tenant/", guarded(views.change_tenant), name="change_tenant"),
            path("find/", guarded(self.find), name="find"),
            *approvals_urls(guarded),
            *audit_urls(guarded),
            *gateway_urls(guarded),
        ]
        return own + super().get_urls()

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """What every page shows: the tenant, the choice of tenants, the try-out warning."""
        return super().each_context(request) | {
            "acting_tenant": getattr(request, "acting_tenant", None),
            "tenant_choices": self._tenant_choices(request),
            "embedded_database": connection.vendor == "sqlite",
        }

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Put together where a page lists it: nearly all draw our own menu instead."""
        return SimpleLazyObject(partial(super().get_app_list, request, app_label))

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The front page: what waits, what is published, what is failing."""
        return super().index(request, {**front_page(request), **(extra_context or {})})

    def find(self, request: HttpRequest) -> TemplateResponse:
        """The global search: pages, adapters, capabilities."""
        words = request.GET.get("q", "").strip()[:LONGEST]
        context = {
            **self.each_context(request),
            "title": "Find",
            "words": words,
            "found": find_everywhere(request, words),
        }
        return TemplateResponse(request, "adminkit/find.html", context)

    def _tenant_choices(self, request: HttpRequest) -> list[dict[str, Any]]:
        from contextos.identity.views import tenant_choices

        return tenant_choices(request) if self.has_permission(request) else []
