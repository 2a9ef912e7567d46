"""Alerts: told once, signed, retried, and without anything to steal (C12, C22)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError, coded_error
from contextos.identity.models import Tenant
from contextos.net import close_pools
from gateway import breaker
from gateway.alert_delivery import plan_alerts, send_alerts
from gateway.alert_receivers import add_receiver, change_receiver, shown_address
from gateway.alerts import find_unknown_outcomes
from gateway.breaker import note_outcome
from gateway.models import Alert, AlertNotice, AlertReceiver
from tests.approvals.receivers import Receiver, receiver
from tests.factories import SYSTEM, make_tenant
from tests.gateway.admin.alert_rows import SECRET, make_alert, make_receiver
from tests.gateway.admin.rows import make_call, make_run
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry.documents import bundle
from tests.registry.walks import policy_walk

LOCAL_MAIL = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def tenant(db: None) -> Tenant:
    breaker._successes.clear()
    return make_tenant()


@pytest.fixture
def inbox() -> Iterator[Receiver]:
    with receiver() as made:
        yield made
    close_pools()


def _told() -> int:
    find_unknown_outcomes()
    plan_alerts()
    return send_alerts()


@pytest.mark.proves("C12")
@override_settings(EMAIL_BACKEND=LOCAL_MAIL)
def test_a_breaker_that_opens_is_mailed_once_without_values(tenant: Tenant) -> None:
    make_receiver(tenant)
    for _ in range(8):
        note_outcome(tenant.pk, "adp_orders", coded_error("function.timeout"))
    assert (_told(), _told()) == (1, 0)
    message = mail.outbox[0]
    assert message.subject == "[ContextOS] A breaker opened: adp_orders"
    assert message.to == ["oncall@example.com"]
    assert "last failure: function.timeout" in str(message.body)
    assert f"/admin/gateway/alert/{Alert.objects.get().pk}/" in str(message.body)


def test_a_webhook_gets_it_signed_and_again_after_a_failure(
    tenant: Tenant, inbox: Receiver
) -> None:
    make_receiver(tenant, channel="webhook", address=inbox.url, secret=SECRET)
    alert = make_alert(tenant)
    inbox.answers = [503]
    assert _told() == 0
    row = AlertNotice.objects.get()
    assert (row.attempts, row.sent_at, row.last_error) == (1, None, "127.0.0.1 answered 503.")
    AlertNotice.objects.update(due_at=timezone.now())
    assert _told() == 1
    first, second = inbox.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    body = second.json
    assert body["type"] == "alert.breaker_open"
    assert body["data"]["alert_id"] == alert.pk
    assert body["data"]["subject"] == "adp_orders"
    assert second.is_signed_with(SECRET)


@override_settings(EMAIL_BACKEND=LOCAL_MAIL)
def test_an_unknown_outcome_is_told_once_with_ids_alone(tenant: Tenant) -> None:
    make_receiver(tenant)
    call = make_call(make_run(tenant), state="unknown_outcome", error_code="function.timeout")
    make_call(make_run(tenant), state="ok")
    assert (_told(), _told()) == (1, 0)
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject) == ("unknown_outcome", call.pk)
    assert alert.facts["code"] == "function.timeout"


@pytest.mark.django_db
def test_a_policy_that_can_not_be_evaluated_denies_and_is_told_once_an_hour() -> None:
    world = ready(GatewayWorld)
    rule = {
        "rule_id": "broken",
        "description": "Says neither yes nor no.",
        "applies_to": {"capability": "orders.lookup"},
        "if": {"var": "run.intent"},
        "then": {"allow": True},
    }
    broken = bundle(bundle_id="broken", rules=[rule], tests=[])
    policy_walk(world.house).published(broken)
    run = world.open_run()
    body = {
        "run_id": run["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
    }
    answers = [world.post("/api/v1/tool-calls", body).json() for _ in range(2)]
    assert {answer["error"]["code"] for answer in answers} == {"policy.evaluation_error"}
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject) == ("policy_error", "orders.lookup")
    assert alert.facts == {
        "code": "policy.evaluation_error",
        "decision_id": answers[0]["decision_id"],
    }


@override_settings(EMAIL_BACKEND=LOCAL_MAIL)
def test_who_hears_of_one_kind_hears_of_no_other(tenant: Tenant) -> None:
    make_receiver(tenant, kinds=["policy_error"])
    off = make_receiver(tenant, "Off", address="off@example.com")
    change_receiver(
        receiver_pk=off.pk, name="Off", address=off.address, kinds=[], is_active=False, actor=SYSTEM
    )
    make_receiver(make_tenant(), "Theirs", address="theirs@example.com")
    make_alert(tenant)
    assert _told() == 0
    assert not AlertNotice.objects.exists()
    assert Alert.objects.get().planned_at is not None


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@override_settings(EMAIL_BACKEND=LOCAL_MAIL)
def test_many_processes_tell_it_once() -> None:
    tenant = make_tenant()
    make_receiver(tenant)
    make_alert(tenant)
    barrier = threading.Barrier(8)

    def one(_: int) -> int:
        try:
            barrier.wait(30)
            return _told()
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        sent = sum(pool.map(one, range(8)))
    assert (sent, AlertNotice.objects.count()) == (1, 1)


def test_old_unknown_outcomes_are_left_to_their_page(tenant: Tenant) -> None:
    call = make_call(make_run(tenant), state="unknown_outcome")
    type(call).objects.update(created_at=timezone.now() - timedelta(days=2))
    assert find_unknown_outcomes() == 0


@pytest.mark.proves("C12")
def test_an_outcome_that_became_unknown_after_days_of_waiting_for_people_is_told(
    tenant: Tenant,
) -> None:
    now = timezone.now()
    call = make_call(make_run(tenant), state="unknown_outcome", deadline_at=now)
    type(call).objects.update(created_at=now - timedelta(days=3))
    assert find_unknown_outcomes() == 1
    assert find_unknown_outcomes(now + timedelta(days=2)) == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"channel": "email", "address": "nobody"},
        {"channel": "email", "address": "a@b.example", "kinds": ["weather"]},
        {"channel": "webhook", "address": "https://hooks.example.com/x"},
        {"channel": "webhook", "address": "https://hooks.example.com/x", "secret": "short"},
        {"channel": "webhook", "address": "https://169.254.169.254/x", "secret": SECRET},
    ],
)
@override_settings(CONTEXTOS_ENV="production")
def test_what_can_not_be_sent_to_is_refused_on_entry(tenant: Tenant, bad: dict[str, Any]) -> None:
    with pytest.raises(ContextOSError):
        add_receiver(tenant_id=tenant.pk, name="x", actor=SYSTEM, **bad)
    assert not AlertReceiver.objects.exists()


def test_neither_the_log_nor_a_page_shows_the_address_s_key_or_the_secret(tenant: Tenant) -> None:
    kept = make_receiver(
        tenant, channel="webhook", address="https://hooks.example.com/T0/s3cr3t", secret=SECRET
    )
    assert shown_address(kept) == "https://hooks.example.com"
    text = AuditEvent.objects.get(action="gateway.alert_receiver.added").text
    assert SECRET not in text
    assert "s3cr3t" not in text
    assert SECRET.encode() not in bytes(kept.sealed_secret or b"")
