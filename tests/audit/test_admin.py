"""The log on its pages: read, filtered, verified at sight; the installation's for its people."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from audit.models import AuditEvent
from audit.services import record_event
from contextos.core.events import Actor
from contextos.identity.models import Tenant
from tests.factories import make_member, make_superuser, make_tenant
from tests.identity.signed_in import browser_of
from tests.putting_back import triggers_asleep

LIST = "admin:audit_auditevent_changelist"
PERSON = Actor(kind="user", id="user_1", tenant_id="acme_prod", display="Asha <b>Rao</b>\u202e")


@pytest.fixture
def acme(db: None) -> Tenant:
    return make_tenant("acme_prod", name="Acme")


@pytest.fixture
def event(acme: Tenant) -> AuditEvent:
    return record_event(
        tenant_id=acme.pk,
        action="identity.agent.deactivated",
        actor=PERSON,
        subject_kind="agent",
        subject_id="refunds",
        reason="<script>alert(1)</script> runs wild",
    )


def test_the_page_sets_out_the_record_and_verifies_it(acme: Tenant, event: AuditEvent) -> None:
    browser = browser_of(make_member(acme, "auditor"), acme)
    page = browser.get(reverse("admin:audit_auditevent_change", args=[event.pk]))
    assert page.status_code == 200
    assert "verified" in page.text
    assert "Agent switched off" in page.text
    assert bytes(event.leaf_hash).hex() in page.text


def test_text_of_others_is_escaped_and_its_invisible_parts_shown(
    acme: Tenant, event: AuditEvent
) -> None:
    browser = browser_of(make_member(acme, "auditor"), acme)
    for address in (reverse(LIST), reverse("admin:audit_auditevent_change", args=[event.pk])):
        page = browser.get(address).text
        assert "<script>alert" not in page
        assert "<b>Rao" not in page
        assert "\u202e" not in page
        assert "⟨U+202E⟩" in page


def test_an_event_whose_text_was_damaged_keeps_no_page_from_being_shown(
    acme: Tenant, event: AuditEvent
) -> None:
    with triggers_asleep(connection):
        AuditEvent.objects.filter(pk=event.pk).update(text="{damaged")
    browser = browser_of(make_member(acme, "auditor"), acme)
    own_page = reverse("admin:audit_auditevent_change", args=[event.pk])
    for address in ("/admin/", reverse(LIST), own_page):
        assert browser.get(address).status_code == 200, address
    assert "tampered with" in browser.get(own_page).text


@pytest.mark.proves("E2")
def test_a_tampered_row_is_called_so(acme: Tenant, event: AuditEvent) -> None:
    with triggers_asleep(connection):
        AuditEvent.objects.filter(pk=event.pk).update(subject_id="orders")
    browser = browser_of(make_member(acme, "auditor"), acme)
    page = browser.get(reverse("admin:audit_auditevent_change", args=[event.pk]))
    assert "tampered with" in page.text
    assert "expected refunds, found orders" in page.text


def test_filters_and_exact_search(acme: Tenant, event: AuditEvent) -> None:
    browser = browser_of(make_member(acme, "operator"), acme)  # an auditor's look is an event too
    for query in (
        {"action": "identity.agent.deactivated"},
        {"actor_kind": "user"},
        {"q": "refunds"},
        {"q": event.pk},
    ):
        shown = browser.get(reverse(LIST), query).context["cl"].result_list
        assert [row.pk for row in shown] == [event.pk]
    assert not browser.get(reverse(LIST), {"q": "refund"}).context["cl"].result_list


def test_the_list_never_counts_the_whole_table(acme: Tenant, event: AuditEvent) -> None:
    browser = browser_of(make_member(acme, "auditor"), acme)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert browser.get(reverse(LIST)).status_code == 200
    counting = [
        query["sql"]
        for query in queries
        if "COUNT(" in query["sql"].upper() and "audit_auditevent" in query["sql"]
    ]
    assert all("LIMIT" in sql.upper() for sql in counting)
    assert len(queries) <= 25


def test_events_of_the_installation_are_for_its_own_people(acme: Tenant) -> None:
    root = make_superuser()
    platform = AuditEvent.objects.get(action="identity.user.superuser_created")
    seen_by_root = browser_of(root, acme).get(reverse(LIST)).context["cl"].result_list
    boss = browser_of(make_member(acme, "platform_admin"), acme)
    seen_by_boss = boss.get(reverse(LIST)).context["cl"].result_list
    assert platform in seen_by_root
    assert platform not in seen_by_boss
    page = reverse("admin:audit_auditevent_change", args=[platform.pk])
    assert browser_of(root, acme).get(page).status_code == 200
    assert boss.get(page).status_code in {302, 403, 404}
