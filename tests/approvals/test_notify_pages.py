"""Pages of messages, webhooks and one's own notifications, as each role meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Gate, Notice, NoticePreference, Webhook
from audit.models import AuditEvent
from contextos.identity.models import Tenant
from contextos.net import close_pools
from tests.approvals.notice_rows import make_notice, make_webhook
from tests.approvals.receivers import SECRET, Receiver, receiver
from tests.factories import grant, make_member, make_tenant
from tests.identity.signed_in import browser_of

pytestmark = pytest.mark.django_db
LIST = "admin:approvals_notice_changelist"
HOOKS = "admin:approvals_webhook_changelist"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def inbox() -> Iterator[Receiver]:
    with receiver() as made:
        yield made
    close_pools()


def _as(tenant: Tenant, role: str) -> Client:
    return browser_of(make_member(tenant, role), tenant)


# --- messages ------------------------------------------------------------------------------------
def test_an_empty_list_says_what_will_stand_there(tenant: Tenant) -> None:
    page = _as(tenant, "operator").get(reverse(LIST)).text
    assert "No notices yet" in page


def test_the_list_tells_why_a_message_failed(tenant: Tenant) -> None:
    make_notice(tenant, "apr_listed")
    page = _as(tenant, "auditor").get(reverse(LIST)).text
    assert "The mail server refused the address." in page
    assert "/admin/approvals/queue/apr_listed/" in page
    sent = _as(tenant, "auditor").get(reverse(LIST), {"state": "sent"})
    assert list(sent.context["cl"].result_list) == []


def test_an_operator_tries_a_failed_message_again_and_an_auditor_can_not(tenant: Tenant) -> None:
    notice = make_notice(tenant, "apr_again")
    again = reverse("admin:approvals_notice_retry", args=[notice.pk])
    assert _as(tenant, "auditor").post(again).status_code == 403
    operator = _as(tenant, "operator")
    assert "Try again" in operator.get(again).text
    assert operator.post(again).status_code == 302
    notice.refresh_from_db()
    assert (notice.failed_at, notice.attempts) == (None, 0)
    assert AuditEvent.objects.filter(action="notice.retried").count() == 1
    assert "failed" in operator.post(again).text  # nothing to try again any more


def test_nobody_changes_or_deletes_a_message(tenant: Tenant) -> None:
    notice = make_notice(tenant, "apr_kept")
    admin = _as(tenant, "platform_admin")
    for page in ("change", "delete"):
        admin.post(reverse(f"admin:approvals_notice_{page}", args=[notice.pk]), {"post": "yes"})
    assert Notice.objects.filter(pk=notice.pk, event="opened").exists()


# --- one's own choice ----------------------------------------------------------------------------
def test_an_approver_chooses_what_to_hear_of(tenant: Tenant) -> None:
    user = make_member(tenant, "finance_approver")
    browser = browser_of(user, tenant)
    page = reverse("admin:approvals_my_notifications")
    assert "no e-mail address" in browser.get(page).text
    assert browser.post(page, {"on_reminder": "on", "on_outcome": "on"}).status_code == 302
    kept = NoticePreference.objects.get(user=user, tenant=tenant)
    assert (kept.on_request, kept.on_reminder, kept.on_outcome) == (False, True, True)
    shown = browser.get(page).context["form"].initial
    assert shown == {"on_request": False, "on_reminder": True, "on_outcome": True}


def test_a_choice_counts_in_its_tenant_alone(tenant: Tenant) -> None:
    other = make_tenant()
    user = make_member(tenant, "finance_approver")
    grant(user, other, "finance_approver")
    page = reverse("admin:approvals_my_notifications")
    browser_of(user, tenant).post(page, {})
    assert browser_of(user, other).get(page).context["form"].initial["on_request"] is True
    assert Client().get(page).status_code == 302


def test_ones_own_page_links_to_the_choice(tenant: Tenant) -> None:
    page = _as(tenant, "finance_approver").get(reverse("admin:account")).text
    assert reverse("admin:approvals_my_notifications") in page


# --- webhooks ------------------------------------------------------------------------------------
def _form(inbox: Receiver, **changes: Any) -> dict[str, Any]:
    return {"name": "Ours", "kind": "signed", "url": inbox.url, "secret": SECRET, **changes}


def test_a_platform_admin_adds_tests_and_removes_a_webhook(tenant: Tenant, inbox: Receiver) -> None:
    Gate.objects.create(tenant=tenant, gate_id="GATE_ONE")
    admin = _as(tenant, "platform_admin")
    add = reverse("admin:approvals_webhook_add")
    assert admin.post(add, _form(inbox, gates=["GATE_ONE"])).status_code == 302
    hook = Webhook.objects.get()
    assert (hook.gates, hook.tenant_id) == (["GATE_ONE"], tenant.pk)
    test = reverse("admin:approvals_webhook_send_test", args=[hook.pk])
    admin.get(test)
    assert inbox.requests == []  # looking sends nothing
    assert admin.post(test).status_code == 302
    assert inbox.requests[0].is_signed_with(SECRET)
    inbox.answers = [503]
    assert "127.0.0.1 answered 503." in admin.post(test).text
    delete = reverse("admin:approvals_webhook_delete", args=[hook.pk])
    assert admin.post(delete, {"post": "yes"}).status_code == 302
    assert not Webhook.objects.exists()
    actions = AuditEvent.objects.filter(subject_kind="webhook").values_list("action", flat=True)
    assert list(actions.order_by("event_id")) == [
        "webhook.created",
        "webhook.tested",
        "webhook.deleted",
    ]


def test_the_secret_is_never_shown_and_stays_when_nothing_is_typed(
    tenant: Tenant, inbox: Receiver
) -> None:
    admin = _as(tenant, "platform_admin")
    admin.post(reverse("admin:approvals_webhook_add"), _form(inbox))
    hook = Webhook.objects.get()
    page = reverse("admin:approvals_webhook_change", args=[hook.pk])
    shown = admin.get(page).text
    assert SECRET not in shown
    assert "sha256 " in shown
    answer = admin.post(page, _form(inbox, name="Renamed", secret="", is_active="on"))
    assert answer.status_code == 302
    renamed = Webhook.objects.get()
    assert renamed.name == "Renamed"
    assert bytes(renamed.sealed_secret or b"") == bytes(hook.sealed_secret or b"")
    texts = "".join(AuditEvent.objects.values_list("text", flat=True))
    assert SECRET not in texts
    assert "hooks/in" not in texts


def test_what_the_service_refuses_stands_on_the_form(tenant: Tenant, inbox: Receiver) -> None:
    admin = _as(tenant, "platform_admin")
    add = reverse("admin:approvals_webhook_add")
    refused = admin.post(add, _form(inbox, secret="too short"))
    assert "The signing secret can" in refused.text
    assert not Webhook.objects.exists()
    make_webhook(tenant, "Ours")
    assert admin.post(add, _form(inbox)).status_code == 200  # the name is taken
    assert Webhook.objects.count() == 1


def test_whoever_only_reads_sees_the_host_and_not_the_address(tenant: Tenant) -> None:
    hook = make_webhook(tenant, "Ours")
    for role in ("auditor", "operator"):
        browser = _as(tenant, role)
        listed = browser.get(reverse(HOOKS)).text
        page = browser.get(reverse("admin:approvals_webhook_change", args=[hook.pk])).text
        assert "https://hooks.example.com" in listed
        assert "https://hooks.example.com" in page
        assert "secret-path" not in listed + page


def test_an_approver_has_no_webhook_page(tenant: Tenant) -> None:
    browser = _as(tenant, "finance_approver")
    assert browser.get(reverse(HOOKS)).status_code == 403
    assert browser.get(reverse(LIST)).status_code == 403
