"""Whatever an auditor is shown is on record, and nothing of another period is shown (E3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone

from audit.accesses import Terms, grant_access
from audit.models import AuditEvent
from contextos.identity.models import Tenant, User
from gateway.states import CallState
from tests.abuse.matrix import Estate, api_routes
from tests.abuse.verdicts import MATRIX, QUERIES
from tests.factories import SYSTEM, make_member, make_tenant, make_user
from tests.gateway.admin.rows import make_call, make_evidence, make_run
from tests.identity.signed_in import browser_of
from tests.tenant_rows import MAKERS

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E3")]
# One's own account; and what says more of the look than its address.
OWN = re.compile(r"/admin/(login|logout|verify|jsi18n|tenant|account.*|password_change.*)/.*")
THEMSELVES = {"decision-records", "decision-record", "/admin/audit/decisionrow/"}
OWN_NOTICES = "/admin/approvals/notice/mine/"


@pytest.fixture
def acme() -> Tenant:
    return make_tenant("acme")


def _looks(person: User) -> set[str]:
    mine = AuditEvent.objects.filter(actor_id=person.user_id, action="audit.page.viewed")
    return set(mine.values_list("subject_id", flat=True))


def test_every_rest_answer_to_an_auditor_is_on_record() -> None:
    estate = Estate("ownmarker")
    things, auditor = estate.things, estate.people["auditor"]
    token = {"Authorization": f"Bearer {estate.token('auditor')}"}
    shown = set()
    for route in api_routes():
        if "auditor" in MATRIX[route.name].get("GET", ()) and route.name not in THEMSELVES:
            address = route.at(things) + QUERIES.get(route.name, "")
            if Client().get(address, headers=token).status_code == 200:
                shown.add(route.at(things))
    assert len(shown) > 20
    assert shown == _looks(auditor)


def _addresses(urls: Any, prefix: str = "/admin/") -> Iterator[str]:
    for item in urls:
        if isinstance(item, URLResolver):
            yield from _addresses(item.url_patterns, prefix + str(item.pattern))
        elif isinstance(item, URLPattern) and "<" not in str(item.pattern):
            yield prefix + str(item.pattern).replace("^", "").replace("$", "")


def _unrecorded(browser: Client, auditor: User, addresses: Iterable[str]) -> Iterator[str]:
    """Those of the pages that the auditor was shown without a trace of it."""
    for address in addresses:
        if browser.get(address).status_code == 200 and address not in _looks(auditor):
            yield address


def test_every_list_and_board_an_auditor_is_shown_is_on_record(acme: Tenant) -> None:
    auditor = make_member(acme, "auditor")
    browser = browser_of(auditor, acme)
    addresses = [name for name in _addresses(admin.site.urls[0]) if not OWN.fullmatch(name)]
    assert set(_unrecorded(browser, auditor, addresses)) <= {*THEMSELVES, OWN_NOTICES}
    assert len(_looks(auditor)) > 30


def test_every_single_thing_an_auditor_is_shown_is_on_record(acme: Tenant) -> None:
    auditor = make_member(acme, "auditor")
    browser, shown = browser_of(auditor, acme), 0
    for model in admin.site._registry:
        if model._meta.label not in MAKERS:
            continue
        with transaction.atomic():  # rows of one kind may stand in the way of another's
            row = MAKERS[model._meta.label](acme, "ownmarker")
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
            address = reverse(name, args=[row.pk])
            assert list(_unrecorded(browser, auditor, [address])) == []
            shown += address in _looks(auditor)
            transaction.set_rollback(True)
    assert shown > 10


def test_looking_again_within_the_minute_is_one_look_and_others_are_not_followed(
    acme: Tenant,
) -> None:
    auditor, operator = make_member(acme, "auditor"), make_member(acme, "operator")
    address = reverse("admin:gateway_dashboard")
    for person in (auditor, auditor, operator):
        assert browser_of(person, acme).get(address).status_code == 200
    seen = AuditEvent.objects.filter(action="audit.page.viewed", subject_id=address)
    assert 1 <= seen.count() <= 2, "a minute may end between two looks"
    assert set(seen.values_list("actor_id", flat=True)) == {auditor.user_id}


def test_a_look_that_cannot_be_recorded_shows_nothing(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = browser_of(make_member(acme, "auditor"), acme)
    browser.raise_request_exception = False
    address = reverse("admin:gateway_toolcall_changelist")
    assert browser.get(address).status_code == 200

    def down(**facts: Any) -> None:
        raise RuntimeError("the log takes nothing")

    monkeypatch.setattr("audit.views_recorded.record_event", down)
    refused = browser.get(reverse("admin:gateway_run_changelist"))
    assert refused.status_code == 500
    assert "No runs" not in refused.text


# --- the period ----------------------------------------------------------------------------------
def _auditor_of_last_week(tenant: Tenant) -> Client:
    auditor, now = make_user("aude"), timezone.now()
    terms = Terms(
        starts_at=now - timedelta(hours=1),
        ends_at=now + timedelta(days=1),
        data_from=now - timedelta(days=10),
        data_until=now - timedelta(days=3),
    )
    grant_access(user=auditor, tenant_id=tenant.pk, terms=terms, actor=SYSTEM, reason="Audit")
    return browser_of(auditor, tenant)


def test_evidence_and_calls_that_wait_for_people_are_those_of_the_period(acme: Tenant) -> None:
    run = make_run(acme)
    evidence = make_evidence(run, capability_id="orders.lookup")
    unknown = make_call(run, state=CallState.UNKNOWN_OUTCOME)
    dead = make_call(run, state=CallState.FAILED, dead_letter=True)
    pages = {
        reverse("admin:gateway_evidence_changelist"): evidence.pk,
        reverse("admin:gateway_reconcile"): unknown.pk,
        reverse("admin:gateway_dead_letters"): dead.pk,
    }
    operator = browser_of(make_member(acme, "operator"), acme)
    auditor = _auditor_of_last_week(acme)
    for address, name in pages.items():
        assert name in operator.get(address).text
        assert name not in auditor.get(address).text
    one = reverse("admin:gateway_reconcile_call", args=[unknown.pk])
    assert (operator.get(one).status_code, auditor.get(one).status_code) == (200, 404)


def test_the_report_on_approvers_ends_where_the_period_does(acme: Tenant) -> None:
    auditor, address = _auditor_of_last_week(acme), reverse("admin:approvals_reports")
    today = f"{timezone.now():%Y-%m-%d}"
    assert auditor.get(address, {"since": today, "until": today}).status_code == 403
    assert auditor.get(address).status_code == 200
