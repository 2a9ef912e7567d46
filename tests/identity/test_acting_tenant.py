"""The tenant a person acts in: chosen, remembered, never one that is not theirs."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.http import Http404, HttpResponse
from django.test import RequestFactory

from audit.models import AuditEvent
from contextos.identity import services
from contextos.identity.acting_tenant import SESSION_KEY, bind_acting_tenant, switch_tenant
from contextos.identity.middleware import ActingTenantMiddleware
from contextos.identity.models import Tenant, User
from tests.factories import SYSTEM, grant, make_member, make_superuser, make_user
from tests.identity.signed_in import browser_of


def request_of(user: User, chosen: str | None = None) -> Any:
    request: Any = RequestFactory().get("/admin/")
    request.COOKIES["sessionid"] = "present"
    request.user, request.session = User.objects.get(pk=user.pk), SessionStore()
    if chosen:
        request.session[SESSION_KEY] = chosen
    return request


def acting_in(request: Any) -> Tenant | None:
    bind_acting_tenant(request)
    tenant: Tenant | None = request.acting_tenant
    assert request.user.acting_tenant_id == (tenant.pk if tenant else None)
    return tenant


def test_the_only_tenant_is_taken(acme: Tenant, globex: Tenant) -> None:
    assert acting_in(request_of(make_member(globex, "operator"))) == globex


def test_the_chosen_tenant_is_remembered(acme: Tenant, globex: Tenant) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "operator")
    assert acting_in(request_of(user)) == acme
    assert acting_in(request_of(user, globex.pk)) == globex


def test_a_choice_that_is_no_longer_theirs_falls_back(acme: Tenant, globex: Tenant) -> None:
    user = make_member(acme, "operator")
    membership = grant(user, globex, "operator")
    services.revoke_role(membership_id=membership.pk, actor=SYSTEM)
    assert acting_in(request_of(user, globex.pk)) == acme
    assert acting_in(request_of(user, "no_such_tenant")) == acme


def test_who_belongs_nowhere_acts_nowhere(acme: Tenant) -> None:
    assert acting_in(request_of(make_user())) is None


def test_a_request_without_a_session_cookie_costs_nothing(
    acme: Tenant, django_assert_num_queries: Any
) -> None:
    request: Any = RequestFactory().get("/api/v1/runs")
    request.user = None
    with django_assert_num_queries(0):
        ActingTenantMiddleware(lambda given: HttpResponse())(request)
    assert request.acting_tenant is None


def test_switching_is_recorded_in_the_tenant_entered(acme: Tenant, globex: Tenant) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "operator")
    request = request_of(user)
    bind_acting_tenant(request)
    assert switch_tenant(request, globex.pk) == globex
    assert request.user.acting_tenant_id == globex.pk
    assert request.session[SESSION_KEY] == globex.pk
    event = AuditEvent.objects.filter(action="identity.tenant.entered").get()
    assert (event.tenant_id, event.actor_id) == (globex.pk, user.user_id)


@pytest.mark.parametrize("foreign", ["globex_prod", "no_such_tenant", "", "platform"])
def test_a_foreign_tenant_looks_like_one_that_is_not_there(
    acme: Tenant, globex: Tenant, foreign: str
) -> None:
    request = request_of(make_member(acme, "platform_admin"))
    bind_acting_tenant(request)
    with pytest.raises(Http404):
        switch_tenant(request, foreign)
    assert request.acting_tenant == acme
    assert not AuditEvent.objects.filter(action="identity.tenant.entered").exists()


def test_an_inactive_tenant_can_be_entered_by_a_superuser_only(
    acme: Tenant, globex: Tenant
) -> None:
    user = make_member(acme, "platform_admin")
    grant(user, globex, "platform_admin")
    services.set_tenant_active(tenant_id=globex.pk, active=False, actor=SYSTEM)
    request = request_of(user)
    bind_acting_tenant(request)
    with pytest.raises(Http404):
        switch_tenant(request, globex.pk)
    root = request_of(make_superuser())
    bind_acting_tenant(root)
    assert switch_tenant(root, globex.pk) == globex


def test_no_record_no_switch(acme: Tenant, globex: Tenant, settings: Any) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "operator")
    request = request_of(user)
    bind_acting_tenant(request)
    settings.CONTEXTOS_EVENT_RECORDER = "tests.identity.recorders.failing"
    with pytest.raises(RuntimeError):
        switch_tenant(request, globex.pk)
    assert request.acting_tenant == acme
    assert SESSION_KEY not in request.session


def test_a_session_ends_with_the_last_membership(acme: Tenant) -> None:
    user = make_user()
    membership = grant(user, acme, "operator")
    browser = browser_of(user)
    assert browser.get("/admin/").status_code == 200
    services.revoke_role(membership_id=membership.pk, actor=SYSTEM)
    assert browser.get("/admin/").status_code == 302
