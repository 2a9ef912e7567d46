"""The auditor's search in the admin: filters, columns, kept searches, and its words (E3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.accesses import Terms, grant_access
from audit.admin.record_columns import COLUMNS
from audit.models import AuditEvent, SavedSearch
from contextos.identity.models import Tenant
from tests.audit.record_rows import chain, lookup, refund, refusal
from tests.factories import SYSTEM, make_member, make_tenant, make_user
from tests.identity.signed_in import browser_of

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202efdp"


@pytest.fixture
def acme() -> Tenant:
    return make_tenant("acme")


def visitor(tenant: Tenant, role: str = "auditor") -> Client:
    return browser_of(make_member(tenant, role), tenant)


def page() -> str:
    return reverse("admin:audit_decisionrow_changelist")


@pytest.mark.proves("E3")
def test_an_auditor_finds_last_months_refunds_over_3000_of_one_approver(acme: Tenant) -> None:
    fiona = make_user("fin1")
    wanted = refund(approver=fiona.user_id)
    other = [refund(approver=fiona.user_id, amount=100), refund(), lookup()]
    shown = visitor(acme).get(
        page(),
        {
            "from": "2026-10-01",
            "to": "2026-11-01",
            "capability": "payments.issue_refund",
            "approver": "fin1",
            "amount_min": "3000",
        },
    )
    assert wanted in shown.text
    assert not any(one in shown.text for one in other)
    assert "1 found" in shown.text
    assert "4,200 INR" in shown.text
    assert "fin1" in shown.text


def test_each_decision_is_one_line_unless_every_row_is_asked_for(acme: Tenant) -> None:
    refund()
    browser = visitor(acme, "operator")
    assert "1 found" in browser.get(page()).text
    assert "3 found" in browser.get(page(), {"show": "rows"}).text


def test_columns_are_those_the_viewer_chose(acme: Tenant) -> None:
    refund()
    browser = visitor(acme)
    usual = browser.get(page()).text
    assert ">Approved by</th>" in usual
    assert ">Place in the log</th>" not in usual
    chosen = browser.get(page(), {"columns": ["log", "rule", "nonsense"]}).text
    assert ">Place in the log</th>" in chosen
    assert "refund_needs_finance" in chosen
    assert ">Approved by</th>" not in chosen
    every = browser.get(page(), {"columns": list(COLUMNS)})
    assert every.status_code == 200


def test_a_search_is_kept_and_forgotten_by_its_owner_alone(acme: Tenant) -> None:
    owner, stranger = visitor(acme), visitor(acme)
    url = reverse("admin:audit_searches")
    owner.post(url, {"name": " Big  refunds ", "query": "amount_min=3000&after=rec_x&agent="})
    kept = SavedSearch.objects.get()
    assert (kept.name, kept.query) == ("Big refunds", "amount_min=3000")
    assert "Big refunds" in owner.get(page()).text
    assert "Big refunds" not in stranger.get(page()).text
    stranger.post(url, {"forget": str(kept.pk)})
    assert SavedSearch.objects.exists()
    owner.post(url, {"forget": str(kept.pk)})
    assert not SavedSearch.objects.exists()
    owner.post(url, {"name": "  ", "query": ""})
    assert not SavedSearch.objects.exists()


def test_pages_go_on_by_the_last_row_shown(acme: Tenant) -> None:
    first = lookup()
    for day in range(51):
        lookup(days=day % 20 + 1)
    browser = visitor(acme, "operator")
    shown = browser.get(page())
    assert "newest first" in shown.text
    assert first not in shown.text
    older = browser.get(f"{page()}{shown.context['next_url']}")
    assert first in older.text
    assert len(older.context["lines"]) == 2


@pytest.mark.parametrize("query", ["amount_min=lots", "from=yesterday", "colour=red"])
def test_a_filter_that_cannot_be_read_is_said(acme: Tenant, query: str) -> None:
    answer = visitor(acme, "operator").get(f"{page()}?{query}")
    assert answer.status_code == 400
    assert query.split("=")[0] in answer.text
    assert 'role="alert"' in answer.text


def test_empty_pages_teach(acme: Tenant) -> None:
    browser = visitor(acme)
    assert "No records yet" in browser.get(page()).text
    lookup()
    assert "Nothing matches" in browser.get(page(), {"agent": "nobody"}).text


def test_hostile_text_is_shown_as_text(acme: Tenant) -> None:
    refusal(principal_chain=chain(agent=HOSTILE, user=HOSTILE), intent=HOSTILE, code=HOSTILE)
    shown = visitor(acme).get(page(), {"columns": list(COLUMNS), "agent": HOSTILE}).text
    assert "<script>alert(1)" not in shown
    assert "\u202e" not in shown
    assert "⟨U+202E⟩" in shown


@pytest.mark.parametrize("role", ["finance_approver", "manifest_author", "manifest_reviewer"])
def test_others_have_no_such_page(acme: Tenant, role: str) -> None:
    browser = visitor(acme, role)
    assert browser.get(page()).status_code == 403
    assert page() not in browser.get(reverse("admin:index")).text


def limited(tenant: Tenant, **terms: Any) -> Client:
    auditor, now = make_user("aude"), timezone.now()
    usual = {"starts_at": now - timedelta(hours=1), "ends_at": now + timedelta(days=9)}
    grant_access(
        user=auditor,
        tenant_id=tenant.pk,
        terms=Terms(**usual | terms),
        actor=SYSTEM,
        reason="Audit",
    )
    return browser_of(auditor, tenant)


@pytest.mark.proves("E3")
def test_a_limited_auditor_sees_the_period_and_no_amounts(acme: Tenant) -> None:
    early, inside = refund(), refund(days=10)
    shown = limited(acme, data_from=datetime(2026, 10, 5, tzinfo=UTC)).get(
        page(), {"columns": ["amount", "status"]}
    )
    assert inside in shown.text
    assert early not in shown.text
    assert "You read as an auditor" in shown.text
    assert "2026-10-05" in shown.text
    assert "4,200" not in shown.text
    assert 'name="amount_min"' not in shown.text


@pytest.mark.proves("E3")
def test_a_search_by_an_auditor_is_recorded(acme: Tenant) -> None:
    visitor(acme).get(page(), {"agent": "agent_1"})
    visitor(acme, "operator").get(page(), {"agent": "agent_1"})
    event = AuditEvent.objects.get(action="audit.records.searched")
    assert '"surface":"admin"' in event.text
    assert '"agent":"agent_1"' in event.text


def test_what_was_found_can_be_exported_as_it_stands(acme: Tenant) -> None:
    lookup()
    shown = visitor(acme).get(page(), {"agent": "agent_1", "columns": "log"})
    assert shown.context["export_url"].endswith("?agent=agent_1&ended=1")
    assert "Export these" in shown.text
