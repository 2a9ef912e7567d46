"""People hear of what waits for them, once, without a value, as they chose."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import connection, connections
from django.test import override_settings
from django.utils import timezone

from approvals import outbox
from approvals.delivery import send_waiting
from approvals.models import ApprovalRequest, Notice, Webhook
from approvals.notify import plan_notices
from approvals.services.delegations import delegate
from approvals.services.notices import choose_notices, try_again
from approvals.services.requests import escalate_due, reminders_due
from approvals.tasks import send_notices
from approvals.webhooks import create_webhook, send_test
from contextos.core.errors import ContextOSError
from contextos.identity.models import User
from contextos.net import close_pools
from gateway.sweep import sweep_calls
from tests.approvals.receivers import SECRET, Receiver, receiver
from tests.approvals.world import GATE, GateWorld
from tests.architecture.source import ROOT
from tests.factories import SYSTEM
from tests.recorded_worlds import ready

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner"),
]


@pytest.fixture
def world() -> GateWorld:
    made = ready(GateWorld)
    for name in ("fin1", "fin2"):
        _give_address(made.approver(name), name)
    return made


@pytest.fixture
def inbox() -> Iterator[Receiver]:
    with receiver() as made:
        yield made
    close_pools()


def _give_address(user: User, name: str) -> None:
    User.objects.filter(pk=user.pk).update(email=f"{name}@acme.example")


def _hook(world: GateWorld, inbox: Receiver, kind: str = "signed", **changes: Any) -> Webhook:
    values: dict[str, Any] = {
        "name": f"Hook {kind}",
        "kind": kind,
        "url": inbox.url,
        "secret": SECRET if kind == "signed" else "",
        **changes,
    }
    return create_webhook(tenant_id=world.tenant_id, actor=SYSTEM, **values)


def _told() -> list[str]:
    """Whom mail went to since the last look."""
    send_notices()
    found = sorted(message.to[0].partition("@")[0] for message in mail.outbox)
    mail.outbox.clear()
    return found


def _tomorrow(**how: float) -> Any:
    return timezone.now() + timedelta(**how)


# --- whom ----------------------------------------------------------------------------------------
def test_everybody_who_could_decide_is_told_once(world: GateWorld) -> None:
    world.proposed()
    assert _told() == ["fin1", "fin2"]
    assert _told() == []
    assert Notice.objects.filter(sent_at__isnull=False).count() == 2


def test_whoever_stands_in_is_told_too(world: GateWorld) -> None:
    _give_address(world.approver("guest"), "guest")
    delegate(
        tenant_id=world.tenant_id,
        giver=world.approver("fin1"),
        stand_in=world.approver("guest"),
        starts_at=timezone.now() - timedelta(minutes=1),
        ends_at=_tomorrow(days=1),
        reason="Holiday",
        actor=SYSTEM,
    )
    world.proposed()
    assert _told() == ["fin1", "fin2", "guest"]


def test_nobody_is_told_who_does_not_want_it(world: GateWorld) -> None:
    choose_notices(
        user=world.approver("fin1"),
        tenant_id=world.tenant_id,
        on_request=False,
        on_reminder=True,
        on_outcome=True,
    )
    request, _ = world.proposed()
    assert _told() == ["fin2"]
    assert reminders_due(_tomorrow(hours=2)) == [(request.pk, 1)]
    assert _told() == ["fin1", "fin2"]
    world.vote(request, "fin2", "reject")
    assert _told() == ["fin1"]  # of outcomes fin2 hears nothing unless they ask for it


def test_the_next_stage_is_told_when_the_first_has_passed(world: GateWorld) -> None:
    world.group("board", "chair")
    _give_address(world.approver("chair"), "chair")
    world.publish_gate(
        version="1.1.0",
        stages=[
            {"name": "finance", "groups": ["finance"], "quorum": 1},
            {"name": "board", "groups": ["board"], "quorum": 1},
        ],
    )
    request, _ = world.proposed()
    assert _told() == ["fin1", "fin2"]
    world.vote(request, "fin1")
    assert _told() == ["chair"]


def test_an_escalation_reaches_the_new_group(world: GateWorld) -> None:
    world.group("board", "chair")
    _give_address(world.approver("chair"), "chair")
    world.publish_gate(version="1.1.0", escalations=[{"after_seconds": 600, "groups": ["board"]}])
    request, _ = world.proposed()
    assert _told() == ["fin1", "fin2"]
    assert escalate_due(_tomorrow(hours=1)) == [request.pk]
    assert "chair" in _told()


def test_the_sweep_fires_each_timer_and_the_outbox_tells_of_it(world: GateWorld) -> None:
    request, _ = world.proposed()
    _told()
    past = timezone.now() - timedelta(seconds=1)
    ApprovalRequest.objects.update(reminds_at=past, escalates_at=past)
    sweep_calls()
    request.refresh_from_db()
    assert (request.reminders, request.escalation) == (1, 1)
    assert _told() == ["fin1", "fin2"]
    ApprovalRequest.objects.update(expires_at=past)
    sweep_calls()
    send_notices()
    assert set(Notice.objects.values_list("event", flat=True)) == {"opened", "escalated"}
    request.refresh_from_db()
    assert (request.state, request.told_state) == ("expired", "expired")


def test_what_was_decided_meanwhile_is_not_announced(world: GateWorld) -> None:
    request, _ = world.proposed()
    plan_notices()
    world.vote(request, "fin1", "reject")
    send_waiting()
    assert mail.outbox == []
    assert "decided before" in Notice.objects.filter(event="opened")[0].last_error


# --- what ----------------------------------------------------------------------------------------
MARKERS = ("txn_8462", "ik_markerkey1234567", "markernote", "markersession", "markerreason")


@pytest.mark.proves("D5")
def test_no_message_carries_an_argument_or_an_agents_word(
    world: GateWorld, inbox: Receiver
) -> None:
    _hook(world, inbox)
    _hook(world, inbox, "chat")
    for name in ("fin1", "fin2"):
        choose_notices(
            user=world.approver(name),
            tenant_id=world.tenant_id,
            on_request=True,
            on_reminder=True,
            on_outcome=True,
        )
    request, _ = world.proposed(
        args={"transaction_id": "txn_8462", "amount_inr": 19317},
        key="ik_markerkey1234567",
        metadata={"note": "markernote"},
        session_id="markersession",
    )
    send_notices()
    reminders_due(_tomorrow(hours=2))
    send_notices()
    escalate_due(_tomorrow(hours=20))
    send_notices()
    world.vote(request, "fin1", "reject", reason="markerreason")
    send_notices()
    assert not Notice.objects.filter(sent_at__isnull=True).exists()
    sent = b"".join(message.message().as_bytes() for message in mail.outbox)
    sent += b"".join(message.bytes for message in inbox.requests)
    assert len(mail.outbox) >= 8
    assert len(inbox.requests) == 8
    for marker in (*MARKERS, SECRET):
        assert marker.encode() not in sent
    assert re.search(rb"19[.,]?317", sent) is None


def test_a_mail_has_text_and_html_with_the_link_and_both_are_escaped(world: GateWorld) -> None:
    request, _ = world.proposed()
    ApprovalRequest.objects.update(capability_id="pay<b>.x\u202e\nBcc: evil@example.test")
    send_notices()
    message: Any = mail.outbox[0]
    html, kind = message.alternatives[0]
    link = f"http://127.0.0.1:8000/admin/approvals/queue/{request.pk}/"
    assert kind == "text/html"
    assert link in message.body
    assert f'href="{link}"' in html
    assert "<b>" not in html
    assert "\u202e" not in message.body + html + message.subject
    assert "\n" not in message.subject
    assert message.to == ["fin1@acme.example"]
    assert message.bcc == []


def test_where_a_developer_sits_messages_are_files(world: GateWorld, tmp_path: Path) -> None:
    world.proposed()
    backend = "django.core.mail.backends.filebased.EmailBackend"
    with override_settings(EMAIL_BACKEND=backend, EMAIL_FILE_PATH=tmp_path / "mail"):
        send_notices()
    texts = [path.read_text() for path in (tmp_path / "mail").iterdir()]
    assert len(texts) == 2
    assert all("/admin/approvals/queue/apr_" in text for text in texts)


def test_a_signed_webhook_can_be_verified_and_its_id_stays(
    world: GateWorld, inbox: Receiver
) -> None:
    _hook(world, inbox)
    inbox.answers = [500]
    request, _ = world.proposed()
    send_notices()
    Notice.objects.update(due_at=timezone.now())
    send_notices()
    first, second = inbox.requests
    assert second.is_signed_with(SECRET)
    assert not second.is_signed_with(SECRET + "x")
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert second.json["type"] == "approval.opened"
    assert second.json["data"]["approval_id"] == request.pk
    assert second.json["data"]["gate"] == GATE


def test_the_documented_check_accepts_our_messages_and_no_other(
    world: GateWorld, inbox: Receiver
) -> None:
    secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    _hook(world, inbox, secret=secret)
    world.proposed()
    send_notices()
    (message,) = inbox.requests
    page = (ROOT / "docs" / "reference" / "webhooks.md").read_text()
    documented: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], documented)
    is_ours = documented["is_ours"]
    assert is_ours(message.headers, message.body, secret)
    assert not is_ours(message.headers, message.body + b" ", secret)
    assert not is_ours(message.headers, message.body, SECRET)
    old = {**message.headers, "webhook-timestamp": "1700000000"}
    assert not is_ours(old, message.body, secret)


def test_a_chat_gets_one_sentence_and_the_link(world: GateWorld, inbox: Receiver) -> None:
    _hook(world, inbox, "chat")
    request, _ = world.proposed()
    send_notices()
    (message,) = inbox.requests
    assert set(message.json) == {"text"}
    assert message.json["text"].endswith(f"/admin/approvals/queue/{request.pk}/")
    assert "webhook-signature" not in message.headers


def test_a_webhook_for_other_gates_hears_nothing(world: GateWorld, inbox: Receiver) -> None:
    _hook(world, inbox, gates=["GATE_OTHER"])
    world.proposed()
    send_notices()
    assert inbox.requests == []


# --- failures ------------------------------------------------------------------------------------
def test_a_failure_is_tried_again_later_and_given_up_in_the_end(
    world: GateWorld, inbox: Receiver
) -> None:
    _hook(world, inbox)
    tries = len(outbox.PAUSES) + 1
    inbox.answers = [500] * tries
    world.proposed()
    send_notices()
    hook_notice = Notice.objects.get(channel="signed")
    assert (hook_notice.attempts, hook_notice.failed_at) == (1, None)
    assert hook_notice.due_at > timezone.now() + timedelta(seconds=5)
    send_notices()
    assert len(inbox.requests) == 1  # not before its time
    for _ in range(tries):
        Notice.objects.filter(channel="signed").update(due_at=timezone.now())
        send_notices()
    hook_notice.refresh_from_db()
    assert hook_notice.failed_at is not None
    assert hook_notice.last_error == "127.0.0.1 answered 500."
    assert len(inbox.requests) == tries
    try_again(mark=hook_notice.pk, tenant_id=world.tenant_id, actor=SYSTEM)
    send_notices()
    hook_notice.refresh_from_db()
    assert hook_notice.sent_at is not None
    with pytest.raises(ContextOSError):
        try_again(mark=hook_notice.pk, tenant_id=world.tenant_id, actor=SYSTEM)


def test_a_person_without_address_is_listed_with_the_reason(world: GateWorld) -> None:
    User.objects.filter(pk=world.approver("fin1").pk).update(email="")
    world.proposed()
    assert _told() == ["fin2"]
    failed = Notice.objects.get(failed_at__isnull=False)
    assert failed.last_error == "The person has no e-mail address."


def test_without_a_mail_server_production_says_so(world: GateWorld) -> None:
    world.proposed()
    with override_settings(EMAIL_BACKEND=""):
        send_notices()
    assert {n.last_error for n in Notice.objects.all()} == {
        "No mail server is set: see CONTEXTOS_EMAIL_HOST."
    }


def test_a_mail_server_that_is_down_is_tried_again(world: GateWorld) -> None:
    world.proposed()
    backend = "django.core.mail.backends.smtp.EmailBackend"
    with override_settings(EMAIL_BACKEND=backend, EMAIL_HOST="127.0.0.1", EMAIL_PORT=9):
        send_notices()
    notices = Notice.objects.filter(channel="email")
    assert {n.failed_at for n in notices} == {None}
    assert "ConnectionRefusedError" in notices[0].last_error
    notices.update(due_at=timezone.now())
    assert _told() == ["fin1", "fin2"]


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://127.0.0.1/x", "egress.private_address"),
        ("https://169.254.169.254/latest", "egress.private_address"),
        ("https://10.1.2.3/x", "egress.private_address"),
        ("http://hooks.example.com/x", "egress.https_required"),
        ("https://user:pw@hooks.example.com/x", "egress.url_invalid"),
    ],
)
def test_production_keeps_no_webhook_to_a_private_or_plain_address(
    world: GateWorld, inbox: Receiver, url: str, code: str
) -> None:
    in_production = override_settings(CONTEXTOS_ENV="production")
    with in_production, pytest.raises(ContextOSError) as refused:
        _hook(world, inbox, url=url)
    assert refused.value.code == code
    assert not Webhook.objects.exists()


@pytest.mark.proves("C11")
def test_production_refuses_a_name_that_leads_inside(world: GateWorld, inbox: Receiver) -> None:
    hook = _hook(world, inbox)
    Webhook.objects.update(url="https://localhost/x")
    in_production = override_settings(CONTEXTOS_ENV="production")
    with in_production, pytest.raises(ContextOSError) as refused:
        send_test(webhook_pk=hook.pk, tenant_id=world.tenant_id, actor=SYSTEM)
    assert refused.value.code == "egress.private_address"
    assert inbox.requests == []


@pytest.mark.parametrize("secret", ["", "short", "a" * 40, "whsec_not base64", "whsec_QUJD"])
def test_a_weak_secret_is_refused(world: GateWorld, inbox: Receiver, secret: str) -> None:
    with pytest.raises(ContextOSError):
        _hook(world, inbox, secret=secret)
    assert not Webhook.objects.exists()


def test_the_secret_is_kept_encrypted(world: GateWorld, inbox: Receiver) -> None:
    hook = _hook(world, inbox)
    hook.refresh_from_db()
    assert hook.sealed_secret is not None
    assert SECRET.encode() not in bytes(hook.sealed_secret)


# --- once, however many processes ----------------------------------------------------------------
def _together(*actions: Callable[[], object]) -> None:
    """Each in a thread with a connection of its own, let go at the same moment."""
    gate = threading.Barrier(len(actions))

    def run(action: Callable[[], object]) -> None:
        try:
            gate.wait(10)
            action()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(run, action) for action in actions]:
            done.result(60)


@pytest.mark.proves("D5")
def test_two_senders_at_once_tell_everybody_once(world: GateWorld, inbox: Receiver) -> None:
    _hook(world, inbox)
    run = world.open_run()
    for number in range(6):
        world.proposed(run=run, key=f"ik_aaaaaaaaaaaaaaa{number}")
    _together(*[send_notices] * 4)
    send_notices()
    assert Notice.objects.count() == 6 * 3
    assert len(mail.outbox) == 12
    assert len(inbox.requests) == 6
    assert len({message.headers["webhook-id"] for message in inbox.requests}) == 6


@pytest.mark.proves("D5")
def test_timers_fire_once_in_two_processes(world: GateWorld, inbox: Receiver) -> None:
    _hook(world, inbox)
    world.proposed()
    send_notices()
    inbox.requests.clear()
    for timer, event in ((reminders_due, "reminded"), (escalate_due, "escalated")):
        moment = _tomorrow(hours=1.5 if event == "reminded" else 20)
        fired: list[Any] = []
        _together(*[lambda t=timer, m=moment, f=fired: f.extend(t(m))] * 4)
        assert len(fired) == 1
        _together(*[send_notices] * 2)
        send_notices()
        assert [message.json["type"] for message in inbox.requests] == [f"approval.{event}"]
        inbox.requests.clear()


def test_looking_for_news_reads_the_index_alone(world: GateWorld) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("asks PostgreSQL's planner")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET enable_seqscan = off")
        from approvals.models.requests import UNTOLD

        plan = ApprovalRequest.objects.filter(UNTOLD).order_by("created_at").explain()
        cursor.execute("RESET enable_seqscan")
    assert "approval_untold" in plan
