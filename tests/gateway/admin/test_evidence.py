"""Evidence on its pages: its worth, its value for who is cleared, where it was used (C18)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from audit.decision_record import DecisionStatus
from audit.decisions import record_decision
from audit.models import Payload
from contextos.identity.models import Tenant
from gateway.models import Evidence
from tests.audit.logs import facts
from tests.factories import make_member, make_tenant
from tests.gateway.admin.rows import make_evidence, make_run
from tests.identity.signed_in import browser_of

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C18")]


@pytest.fixture
def acme(db: None) -> Tenant:
    return make_tenant("acme_prod", name="Acme")


def _page(acme: Tenant, row: Evidence, role: str = "platform_admin") -> Any:
    browser = browser_of(make_member(acme, role), acme)
    return browser.get(reverse("admin:gateway_evidence_change", args=[row.pk]))


def test_the_page_shows_source_hash_size_and_value(acme: Tenant) -> None:
    row = make_evidence(make_run(acme))
    page = _page(acme, row)
    for words in ("adp_orders@1.0.0", row.commitment, "22 bytes", "delivered", "current"):
        assert words in page.text
    assert "No call has named it yet." in page.text


@pytest.mark.parametrize(
    ("role", "classification", "sees"),
    [
        ("platform_admin", "RESTRICTED", True),
        ("auditor", "CONFIDENTIAL", True),
        ("auditor", "RESTRICTED", False),
        ("auditor", "something else", False),
        ("manifest_author", "PUBLIC", False),
    ],
)
def test_values_above_ones_clearance_are_masked(
    acme: Tenant, role: str, classification: str, sees: bool
) -> None:
    row = make_evidence(make_run(acme), classification=classification[:16])
    page = _page(acme, row, role)
    assert page.status_code == 200
    assert ("delivered" in page.text) is sees
    assert ("you are not cleared" in page.text) is not sees


def test_superseded_and_broken_references_show_as_such(acme: Tenant) -> None:
    run = make_run(acme)
    old, new = make_evidence(run, mark="m"), make_evidence(run, mark="m")
    broken = make_evidence(run)
    Payload.objects.filter(pk=broken.payload_id).update(sealed=None, erased_at=timezone.now())
    shown = _page(acme, old)
    assert "superseded" in shown.text
    assert reverse("admin:gateway_evidence_change", args=[new.pk]) in shown.text
    assert "The value was erased" in _page(acme, broken).text
    browser = browser_of(make_member(acme, "auditor"), acme)
    address = reverse("admin:gateway_evidence_changelist")
    with CaptureQueriesContext(connection) as few:
        listed = browser.get(address).text
    for _ in range(2):
        make_evidence(run)
    with CaptureQueriesContext(connection) as more:
        browser.get(address)
    assert len(more) <= len(few), "a longer list costs no more statements"
    for state in ("superseded", "current", "broken"):
        assert state in listed


def test_the_page_lists_the_decisions_that_named_it(acme: Tenant) -> None:
    row = make_evidence(make_run(acme))
    user = facts(acme.pk, status=DecisionStatus.APPROVED, evidence_refs=(row.pk,))
    record_decision(user)
    page = _page(acme, row)
    assert user.decision_id in page.text
    assert "No call has named it yet." not in page.text


def test_what_was_only_committed_to_says_so(acme: Tenant) -> None:
    row = make_evidence(make_run(acme), is_stored=False)
    page = _page(acme, row)
    assert "only the commitment to it" in page.text
    assert "delivered" not in page.text
