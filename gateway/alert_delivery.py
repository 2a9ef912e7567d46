"""Tells receivers of alerts: one message each, claimed by one process, tried again, given up."""

from __future__ import annotations

import smtplib
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse

from approvals.outbox import Undeliverable, send_due
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.text import single_line
from contextos.net.signed_posts import Message, message_id, send_message
from gateway.alert_receivers import EMAIL, secret_of
from gateway.models import Alert, AlertNotice, AlertReceiver

AT_ONCE = 100
_HEADERS = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}


def plan_alerts(now: datetime | None = None) -> int:
    """Write a message per receiver of every alert that has none yet; how many messages."""
    moment = now or utcnow()
    waiting = Alert.objects.filter(planned_at__isnull=True).order_by("happened_at")
    return sum(_planned(alert, moment) for alert in waiting[:AT_ONCE])


@transaction.atomic
def _planned(alert: Alert, now: datetime) -> int:
    """The process whose UPDATE finds it unplanned is the one that writes the messages."""
    rows = Alert.objects.filter(pk=alert.pk, planned_at__isnull=True)
    if not rows.update(planned_at=now):
        return 0
    wanted = AlertReceiver.objects.filter(tenant_id=alert.tenant_id, is_active=True)
    messages = [
        AlertNotice(alert=alert, tenant_id=alert.tenant_id, receiver=receiver, due_at=now)
        for receiver in wanted
        if not receiver.kinds or alert.kind in receiver.kinds
    ]
    return len(AlertNotice.objects.bulk_create(messages, ignore_conflicts=True))


def send_alerts(now: datetime | None = None) -> int:
    """One round over the messages that are due; how many were sent."""
    rows = AlertNotice.objects.select_related("alert", "receiver", "tenant")
    return send_due(rows, send_notice, receiver=lambda row: row.receiver_id, now=now)


def send_notice(notice: AlertNotice) -> None:
    """One message to one receiver, to where it is today."""
    receiver = notice.receiver
    if not receiver.is_active:
        raise Undeliverable("The receiver was switched off.")
    if receiver.channel == EMAIL:
        _mail(notice)
    else:
        _post(notice)


def _mail(notice: AlertNotice) -> None:
    if not settings.EMAIL_BACKEND:
        raise Undeliverable("No mail server is set: see CONTEXTOS_EMAIL_HOST.")
    alert = notice.alert
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in sorted(alert.facts.items())]
    body = [
        f"{alert.get_kind_display()} in {single_line(notice.tenant.name, limit=100)}.",
        *("", f"What: {alert.subject}", f"When: {format_time(alert.happened_at)}"),
        *lines,
        *("", f"Look: {link_to(alert)}"),
    ]
    message = EmailMessage(
        subject=single_line(f"[ContextOS] {alert}", limit=150),
        body="\n".join(single_line(line, limit=300) for line in body),
        to=[notice.receiver.address],
        headers=_HEADERS,
    )
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused:
        raise Undeliverable("The mail server refused the address.") from None
    except (smtplib.SMTPException, OSError) as fault:
        # The server's own words could repeat an address: only the kind of fault is kept.
        said = f"The mail server can't be used now ({type(fault).__name__})."
        raise coded_error("mail.failed", message=said) from fault


def _post(notice: AlertNotice) -> None:
    alert, receiver = notice.alert, notice.receiver
    message = Message(
        url=receiver.address,
        body=body_of(alert),
        message_id=message_id(f"alert:{alert.pk}:{receiver.pk}"),
        secret=secret_of(receiver),
    )
    send_message(
        message, environment=settings.CONTEXTOS_ENV, proxy=settings.EGRESS_PROXY, now=utcnow()
    )


def body_of(alert: Alert) -> dict[str, Any]:
    """Ids, codes and a link; whoever wants more signs in."""
    return {
        "type": f"alert.{alert.kind}",
        "timestamp": format_time(alert.happened_at),
        "data": {
            "alert_id": alert.pk,
            "tenant_id": alert.tenant_id,
            "subject": alert.subject,
            "facts": alert.facts,
            "link": link_to(alert),
        },
    }


def link_to(alert: Alert) -> str:
    """The alert's page in the admin."""
    return f"{settings.PUBLIC_URL}{reverse('admin:gateway_alert_change', args=[alert.pk])}"
