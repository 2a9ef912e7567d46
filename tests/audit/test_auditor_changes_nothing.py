"""An auditor reads on every surface and changes nothing on any; surfaces are discovered (E3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from audit.accesses import Terms, grant_access
from audit.models import AuditEvent, AuditorAccess
from contextos.identity.models import Tenant, User
from tests.factories import (
    PASSWORD,
    SYSTEM,
    acting,
    make_member,
    make_tenant,
    make_user,
    make_user_token,
)
from tests.identity.signed_in import browser_of
from tests.registry.api.calls import Caller, code_of

pytestmark = pytest.mark.django_db
REFUSED = {403, 404, 405}
# One's own account and views, and what auditors are there for: each is recorded.
OWN = re.compile(
    r"^(login|logout|verify|account.*|password_change.*|change_tenant|find|jsi18n|autocomplete|index"
    r"|.*_(changelist|views|notices.*)|audit_searches|app_list|view_on_site"
    r"|approvals_my_notifications|.*export.*|gateway_replay.*|.*report.*)$"
)
# Pages that only show something and take no notice of a post.
SHOWING = frozenset(
    {
        *("approvals_queue", "approvals_request", "approvals_approvalrequest_next", "search"),
        *("gateway_dashboard", "gateway_health", "gateway_refusals", "gateway_reconcile"),
        *("gateway_dead_letters", "registry_policybundleversion_simulator"),
        *("registry_contextpackversion_add", "registry_policybundleversion_add"),
        *("approvals_gateversion_add", "audit_retention"),
    }
)
LOOKS = {"audit.page.viewed", "audit.record.viewed", "audit.records.searched"}
EXPORTING = re.compile(r"^(exports.*|export.*|decision-record-replay.*|.*replay.*)$")


@pytest.fixture
def acme() -> Tenant:
    return make_tenant("acme")


def auditor_of(tenant: Tenant) -> User:
    auditor, now = make_user("aude"), timezone.now()
    grant_access(
        user=auditor,
        tenant_id=tenant.pk,
        terms=Terms(starts_at=now - timedelta(hours=1), ends_at=now + timedelta(days=1)),
        actor=SYSTEM,
        reason="Audit",
    )
    return auditor


def _patterns(urls: Any, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for item in urls:
        route = prefix + str(item.pattern)
        if isinstance(item, URLResolver):
            yield from _patterns(item.url_patterns, route)
        else:
            yield route, item


def _address(route: str) -> str:
    return "/" + re.sub(r"<[^>]+>", "nothing", route).replace("^", "").replace("$", "")


# Exports and reports are an auditor's own work: they change nothing they tell about, and are
# recorded.
OWN_WORK = {
    "audit.ExportJob add",
    "audit.ReportDefinition add",
    "audit.ReportDefinition change",
}


@pytest.mark.proves("E3")
def test_no_page_lets_an_auditor_add_change_delete_or_act(acme: Tenant) -> None:
    request = RequestFactory().get("/admin/")
    request.user = acting(auditor_of(acme), acme)
    request.acting_tenant = acme  # type: ignore[attr-defined]
    allowed = [
        f"{model._meta.label} {verb}"
        for model, page in admin.site._registry.items()
        for verb in ("add", "change", "delete")
        if getattr(page, f"has_{verb}_permission")(request)
    ]
    assert set(allowed) <= OWN_WORK


@pytest.mark.proves("E3")
def test_every_address_of_the_admin_refuses_an_auditors_post(acme: Tenant) -> None:
    browser = browser_of(auditor_of(acme), acme)
    passed = []
    for route, pattern in _patterns(admin.site.urls[0], "admin/"):
        if pattern.name is None or OWN.match(str(pattern.name)):
            continue
        answer = browser.post(_address(route), {"reason": "x", "post": "yes", "name": "taken"})
        unknown = answer.status_code == 302 and answer["Location"] == reverse("admin:index")
        if answer.status_code not in REFUSED and not unknown:
            passed.append(pattern.name)
    assert set(passed) <= SHOWING, str(passed)
    assert _changes() <= LOOKS


@pytest.mark.proves("E3")
def test_every_write_of_the_rest_api_refuses_an_auditor(acme: Tenant) -> None:
    caller = Caller(make_user_token(auditor_of(acme), acme).token)
    found = [
        (route, pattern)
        for route, pattern in _patterns(get_resolver().url_patterns)
        if route.startswith("api/v1/")
    ]
    assert len(found) > 20
    passed = []
    for route, pattern in found:
        if EXPORTING.match(str(pattern.name)):
            continue
        for send in (caller.post, caller.put, caller.delete):
            status = send(_address(route).removeprefix("/api/v1/"), {}).status_code
            if status not in REFUSED:
                passed.append((route, send.__name__, status))
    # Whether a policy would allow something is a question, and nothing is kept of it.
    assert passed == [("api/v1/policies/simulate", "post", 422)], str(passed)
    assert _changes() <= LOOKS


def _changes() -> set[str]:
    """What stands in the log by the auditor: nothing changes without a record."""
    mine = AuditEvent.objects.filter(actor_id=User.objects.get(username="aude").user_id)
    return set(mine.values_list("action", flat=True))


@pytest.mark.proves("E3")
def test_when_the_access_ends_every_door_says_so(acme: Tenant) -> None:
    auditor = auditor_of(acme)
    browser = browser_of(auditor, acme)
    caller = Caller(make_user_token(auditor, acme).token)
    assert browser.get(reverse("admin:audit_decisionrow_changelist")).status_code == 200
    AuditorAccess.objects.update(ends_at=timezone.now())
    answer = browser.get(reverse("admin:audit_decisionrow_changelist"))
    assert answer.status_code == 403
    assert "Your access as an auditor ended on" in answer.text
    assert code_of(caller.get("decision-records")) == (403, "auditor.access_ended")
    assert code_of(caller.get("approvals")) == (403, "auditor.access_ended")
    auditor.memberships.update(valid_until=timezone.now())  # as the grant set it
    assert code_of(caller.get("decision-records")) == (401, "auth.access_ended")
    assert browser.get(reverse("admin:index")).status_code == 302
    form = {"username": "aude", "password": PASSWORD}
    said = Client().post(reverse("admin:login"), form).text
    assert "Your access ended on" in said
    wrong = Client().post(reverse("admin:login"), {**form, "password": "no"}).text
    assert "Your access ended on" not in wrong


@pytest.mark.proves("E3")
def test_a_token_of_an_auditor_lasts_no_longer_than_the_access(acme: Tenant) -> None:
    auditor = auditor_of(acme)
    row = make_user_token(auditor, acme, lifetime=timedelta(days=20)).row
    assert row.expires_at <= AuditorAccess.objects.get().ends_at
    operator = make_member(acme, "operator")
    long = make_user_token(operator, acme, lifetime=timedelta(days=20)).row
    assert long.expires_at > timezone.now() + timedelta(days=19)


def test_a_platform_admin_grants_and_takes_back_on_the_page(acme: Tenant) -> None:
    make_user("aude")
    boss = browser_of(make_member(acme, "platform_admin"), acme)
    now = timezone.now()
    form = {
        "auditor": "aude",
        "starts_at_0": f"{now:%Y-%m-%d}",
        "starts_at_1": "00:00:00",
        "ends_at_0": f"{now + timedelta(days=30):%Y-%m-%d}",
        "ends_at_1": "00:00:00",
        "data_from_0": "2026-10-01",
        "data_from_1": "00:00:00",
        "data_until_0": "",
        "data_until_1": "",
        "clearance": "CONFIDENTIAL",
        "reason": "Yearly audit",
    }
    url = reverse("admin:audit_auditoraccess_add")
    assert "Nobody here signs in" in boss.post(url, {**form, "auditor": "nobody"}).text
    assert boss.post(url, form).status_code == 302
    access = AuditorAccess.objects.get()
    assert (access.user.username, access.clearance) == ("aude", "CONFIDENTIAL")
    shown = boss.get(reverse("admin:audit_auditoraccess_changelist")).text
    assert "from 2026-10-01" in shown
    assert "confidential" in shown
    one = boss.get(reverse("admin:audit_auditoraccess_change", args=[access.pk]))
    assert "Yearly audit" in one.text
    boss.post(reverse("admin:audit_auditoraccess_take_back", args=[access.pk]), {"reason": "Over"})
    access.refresh_from_db()
    assert access.ended_at is not None
