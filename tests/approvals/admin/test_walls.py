"""Who sees what: approvers their gates, readers everything but the arguments, others nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from approvals.models import ApprovalRequest, Vote
from audit.models import AuditEvent
from tests.approvals.admin.desk import QUEUE, Desk, page
from tests.factories import make_superuser
from tests.identity.signed_in import browser_of

PAGES = ("change", "approve", "reject", "withdraw")
SECRET = "txn_4200"


@pytest.mark.proves("E2")
def test_an_approver_sees_the_requests_of_their_gates_only(desk: Desk) -> None:
    mine, other = desk.request(), desk.request(gate_id="GATE_OF_OTHERS", capability_id="not.mine")
    listed = desk.fin1.get(QUEUE, {"show": "all"})
    assert [row.pk for row in listed.context["cl"].result_list] == [mine.pk]
    assert "not.mine" not in listed.text
    for name in PAGES:
        assert desk.fin1.get(page(other, name)).status_code == 404
    assert desk.fin1.post(page(other, "say"), {"text": "Hello"}).status_code == 404


@pytest.mark.proves("E2")
@pytest.mark.parametrize("role", ["platform_admin", "operator", "auditor", "superuser"])
def test_readers_read_all_but_the_arguments_and_decide_nothing(desk: Desk, role: str) -> None:
    request = desk.request(effective_mode="network")
    reader = (
        browser_of(make_superuser(), desk.tenant)
        if role == "superuser"
        else desk.browser("reader", role)
    )
    assert reader.get(QUEUE).context["cl"].result_list
    shown = reader.get(page(request))
    assert shown.status_code == 200
    assert "The arguments are hidden from you." in shown.text
    assert SECRET not in shown.text
    for verdict in ("approve", "reject"):
        assert reader.get(page(request, verdict)).status_code == 403
        sent = {"digest": request.digest, "reason": "Because."}
        assert reader.post(page(request, verdict), sent).status_code == 403
    assert reader.post(page(request, "say"), {"text": "Hi", "kind": "question"}).status_code == 403
    assert reader.get(f"{QUEUE}bulk/", {"id": request.pk}).status_code == 403
    assert not Vote.objects.exists()


@pytest.mark.parametrize("role", ["manifest_author", "manifest_reviewer", "service"])
def test_others_get_no_page_at_all(desk: Desk, role: str) -> None:
    request = desk.request()
    other = desk.browser("other", role)
    for address in (QUEUE, page(request), page(request, "approve"), f"{QUEUE}next/"):
        assert other.get(address).status_code in (302, 403, 404)


@pytest.mark.proves("E2")
def test_another_tenants_approver_sees_and_decides_nothing(desk: Desk) -> None:
    request = desk.request()
    elsewhere = Desk()
    stranger = elsewhere.fin1
    assert stranger.get(QUEUE).context["cl"].result_list == []
    for name in PAGES:
        assert stranger.get(page(request, name)).status_code == 404
        sent = {"digest": request.digest, "reason": "Because.", "code": elsewhere.code("fin1")}
        assert stranger.post(page(request, name), sent).status_code in (403, 404)
    answer = stranger.get(f"{QUEUE}bulk/", {"id": [request.pk, request.pk + "x"]})
    assert request.capability_id not in answer.text
    assert not Vote.objects.exists()


def test_strangers_are_sent_to_the_sign_in(desk: Desk) -> None:
    request = desk.request()
    for address in (QUEUE, page(request), f"/admin/approvals/queue/{request.pk}/"):
        assert "/login/" in Client().get(address)["Location"]


def test_the_short_address_of_messages_leads_to_the_page(desk: Desk) -> None:
    request = desk.request()
    assert desk.fin1.get(f"/admin/approvals/queue/{request.pk}/")["Location"] == page(request)
    assert desk.fin1.get("/admin/approvals/queue/")["Location"] == QUEUE


@pytest.mark.proves("D2")
def test_who_asked_sees_no_arguments_gets_no_buttons_and_an_attempt_is_recorded(
    desk: Desk, django_capture_on_commit_callbacks: Any
) -> None:
    request = desk.request(excluded=[desk.person("fin1").user_id])
    shown = desk.fin1.get(page(request)).text
    assert "You asked for this, or wrote" in shown
    assert "data-approve" not in shown
    assert SECRET not in shown
    answer = desk.vote(request, "fin1")
    assert answer.status_code == 403
    assert "You asked for this" in answer.text
    events = AuditEvent.objects.filter(action="approval.vote_refused")
    assert events.count() == 1
    assert ApprovalRequest.objects.get().state == "pending"
