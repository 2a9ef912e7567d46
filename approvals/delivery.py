"""Sends the notices that are due, each over its own channel."""

from __future__ import annotations

from datetime import datetime

from approvals.mail import send_mail
from approvals.models import ApprovalRequest, Notice, Webhook
from approvals.notify import EMAIL, WAITING
from approvals.outbox import Undeliverable, send_due
from approvals.states import RequestState
from approvals.webhooks import send_to_webhook
from contextos.identity.models import User


def send_waiting(now: datetime | None = None) -> int:
    """One round over the outbox; how many were sent."""
    rows = Notice.objects.all()
    return send_due(rows, send_notice, receiver=lambda row: (row.channel, row.receiver), now=now)


def send_notice(notice: Notice) -> None:
    """One notice, unless it was overtaken by a decision."""
    request = _request(notice)
    if notice.event in WAITING and request.state != RequestState.PENDING:
        raise Undeliverable("Not needed any more: the request was decided before it was sent.")
    if notice.channel == EMAIL:
        send_mail(request, event=notice.event, user=_person(notice))
    else:
        hooks = Webhook.objects.filter(tenant_id=notice.tenant_id, pk=notice.receiver)
        send_to_webhook(request, event=notice.event, hook=hooks.first(), mark=notice.pk)


def _request(notice: Notice) -> ApprovalRequest:
    rows = ApprovalRequest.objects.filter(pk=notice.approval_id, tenant_id=notice.tenant_id)
    found = rows.select_related("tenant").first()
    if found is None:
        raise Undeliverable("The request does not exist any more.")
    return found


def _person(notice: Notice) -> User:
    found = User.objects.filter(user_id=notice.receiver).first()
    if found is None:
        raise Undeliverable("The person does not exist any more.")
    return found
