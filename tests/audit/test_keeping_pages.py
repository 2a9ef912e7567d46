"""The pages of erasures, holds, retention and matching, as each role meets them (E6)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import AuditEvent, Erasure, LegalHold, Payload, RetentionRule
from contextos.identity.models import Tenant
from tests.audit.old_rows import decision
from tests.factories import make_member
from tests.identity.signed_in import browser_of

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E6")]
ERASE, HOLD = "admin:audit_erasure_add", "admin:audit_legalhold_add"
RETENTION = "admin:audit_retention"


@pytest.fixture
def admin(acme: Tenant) -> Client:
    return browser_of(make_member(acme, "platform_admin"), acme)


def _hidden(text: str) -> dict[str, str]:
    """What the second step carries over from the first."""
    found = re.findall(r'<input type="hidden" name="([a-z_]+)"(?: value="([^"]*)")?', text)
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def test_an_erasure_shows_its_consequences_before_anything_happens(
    acme: Tenant, admin: Client
) -> None:
    name = decision(acme.pk, days=1)
    first = admin.get(reverse(ERASE), {"decision": name})
    assert "Erase 2 values of 1 decision?" in first.text
    assert "commitments, never with the values" in first.text
    assert not Erasure.objects.exists()
    sent = {**_hidden(first.text), "reason": "", "step": "erase"}
    assert sent["reference"] == name
    refused = admin.post(reverse(ERASE), sent)
    assert refused.status_code == 422
    assert "auditors will read it" in refused.text
    done = admin.post(reverse(ERASE), {**sent, "reason": "Request 17.", "sure": "on"}, follow=True)
    assert "Erased: 2 values." in done.text
    assert Payload.objects.filter(sealed__isnull=False).count() == 0
    assert "Values erased" in done.text


def test_an_erasure_without_a_filter_or_a_match_is_sent_back(acme: Tenant, admin: Client) -> None:
    empty = admin.post(reverse(ERASE), {})
    assert (empty.status_code, "at least one line" in empty.text) == (422, True)
    nobody = admin.post(reverse(ERASE), {"capability_id": "orders.unknown"})
    assert (nobody.status_code, "No decision is covered" in nobody.text) == (422, True)
    unknown = admin.post(reverse(ERASE), {"reference": "tool_nothing"})
    assert "No call or decision of this tenant" in unknown.text


def test_a_hold_makes_an_erasure_wait_in_plain_sight(acme: Tenant, admin: Client) -> None:
    name = decision(acme.pk, days=1)
    placed = admin.post(
        reverse(HOLD),
        {"title": "Matter 12", "reason": "Court order.", "reference": name},
        follow=True,
    )
    assert "The hold stands from this moment on." in placed.text
    assert "never by itself" in placed.text
    look = admin.get(reverse(ERASE), {"decision": name})
    assert "1 decision under legal hold is left alone" in look.text
    sent = {**_hidden(look.text), "step": "erase", "reason": "Request 17.", "sure": "on"}
    told = admin.post(reverse(ERASE), sent, follow=True)
    assert "A legal hold keeps what should be erased" in told.text
    assert "kept by a legal hold" in told.text
    listed = admin.get(reverse("admin:audit_erasure_changelist"))
    assert "kept by a legal hold" in listed.text


def test_two_people_release_a_hold_on_its_page(acme: Tenant, admin: Client) -> None:
    admin.post(reverse(HOLD), {"title": "Matter 12", "reason": "Court order."})
    hold = LegalHold.objects.get()
    stem, page = "admin:audit_legalhold", reverse("admin:audit_legalhold_change", args=[hold.pk])
    admin.post(reverse(f"{stem}_propose", args=[hold.pk]), {"reason": "Settled out of court."})
    assert "another person has to confirm" in admin.get(page).text
    alone = admin.post(reverse(f"{stem}_confirm", args=[hold.pk]), follow=True)
    assert "two different people" in alone.text
    other = browser_of(make_member(acme, "platform_admin"), acme)
    assert "Confirm the release" in other.get(page).text
    done = other.post(reverse(f"{stem}_confirm", args=[hold.pk]), follow=True)
    assert "Released." in done.text
    assert "Settled out of court." in done.text


def test_retention_can_not_be_set_under_the_floor_on_any_page(acme: Tenant, admin: Client) -> None:
    address = reverse("admin:audit_retention_class", args=["record.other"])
    low = admin.post(address, {"days": "183", "reason": "Shorter."})
    assert (low.status_code, "at least 184 days" in low.text) == (422, True)
    assert not RetentionRule.objects.exists()
    done = admin.post(address, {"days": "184", "reason": "Shorter."}, follow=True)
    assert "applied from tonight on" in done.text
    assert RetentionRule.objects.get().days == 184
    page = admin.get(reverse(RETENTION))
    for words in ("7 years", "184 days", "version 1", "Nothing yet: no record is past its time."):
        assert words in page.text


def test_a_value_is_shown_to_match_and_its_salt_released(acme: Tenant, admin: Client) -> None:
    name = decision(acme.pk, days=1)
    row = Payload.objects.get(decision_id=name, kind="args")
    address = reverse("admin:audit_match", args=[name])
    assert row.commitment in admin.get(address).text
    right = {"step": "compare", "v-payload": row.pk, "v-value": '{"name": "canary"}'}
    assert "The value matches the commitment." in admin.post(address, right).text
    wrong = admin.post(address, {**right, "v-value": '{"name": "other"}'})
    assert "does not match" in wrong.text
    broken = admin.post(address, {**right, "v-value": "{"})
    assert broken.status_code == 422
    mute = admin.post(address, {"step": "release", "s-payload": row.pk, "s-reason": ""})
    assert mute.status_code == 422
    given = admin.post(
        address, {"step": "release", "s-payload": row.pk, "s-reason": "For the customer."}
    )
    assert re.search(r"\b[0-9a-f]{64}</code></dd></dl>", given.text)
    assert AuditEvent.objects.filter(action="payload.salt_released").count() == 1


PAGES: dict[str, Any] = {
    ERASE: {"platform_admin"},
    HOLD: {"platform_admin"},
    "admin:audit_erasure_changelist": {"platform_admin", "auditor", "operator"},
    "admin:audit_legalhold_changelist": {"platform_admin", "auditor", "operator"},
    RETENTION: {"platform_admin", "auditor", "operator"},
}


@pytest.mark.parametrize("role", ["platform_admin", "auditor", "operator", "manifest_author"])
def test_only_platform_admins_let_anything_go(acme: Tenant, role: str) -> None:
    browser = browser_of(make_member(acme, role), acme)
    for page, allowed in PAGES.items():
        assert browser.get(reverse(page)).status_code == (200 if role in allowed else 403), page
    match = browser.get(reverse("admin:audit_match", args=[decision(acme.pk, days=1)]))
    assert match.status_code == (200 if role in {"platform_admin", "auditor"} else 403)
    change = browser.get(reverse("admin:audit_retention_class", args=["event"]))
    assert change.status_code == (200 if role == "platform_admin" else 403)


def test_another_tenants_values_have_no_page(acme: Tenant, globex: Tenant, admin: Client) -> None:
    theirs = decision(globex.pk, days=1)
    assert admin.get(reverse("admin:audit_match", args=[theirs])).status_code == 404
    look = admin.get(reverse(ERASE), {"decision": theirs})
    assert "No decision is covered" in look.text
