"""Tells readers that a report is there: a link that asks for sign-in, never the file or a value."""

from __future__ import annotations

import smtplib
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.urls import reverse

from audit.export.states import ENDED
from audit.models import ReportNotice
from contextos.core.clock import utcnow
from contextos.core.text import single_line
from contextos.identity.models import User

log = structlog.get_logger(__name__)
AT_ONCE = 50
_LEASE = timedelta(minutes=2)
_PAUSES = (60, 600, 3600)
_HEADERS = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}


def send_report_links(now: datetime | None = None) -> int:
    """One round; how many links were sent."""
    moment = now or utcnow()
    rows = _waiting().filter(due_at__lte=moment, run__export__state__in=ENDED)
    rows = rows.select_related("run__export", "run__report").order_by("due_at")
    return sum(_sent(notice, moment) for notice in rows[:AT_ONCE])


def _waiting() -> QuerySet[ReportNotice]:
    return ReportNotice.objects.filter(sent_at__isnull=True, failed_at__isnull=True)


def _sent(notice: ReportNotice, now: datetime) -> bool:
    mine = _waiting().filter(pk=notice.pk, due_at=notice.due_at)
    if not mine.update(due_at=now + _LEASE, attempts=notice.attempts + 1):
        return False  # another process has it
    said = _undeliverable(notice)
    if said is not None:
        ReportNotice.objects.filter(pk=notice.pk).update(failed_at=now, last_error=said)
        return False
    try:
        compose(notice).send()
    except (smtplib.SMTPException, OSError) as fault:
        _later(notice, now, f"The mail server can't be used now ({type(fault).__name__}).")
        return False
    ReportNotice.objects.filter(pk=notice.pk).update(sent_at=now, last_error="")
    return True


def _undeliverable(notice: ReportNotice) -> str | None:
    if not settings.EMAIL_BACKEND:
        return "No mail server is set: see CONTEXTOS_EMAIL_HOST."
    user = User.objects.filter(user_id=notice.user_id).first()
    if user is None or not user.is_active:
        return "The person is not there any more."
    return None if user.email else "The person has no e-mail address."


def _later(notice: ReportNotice, now: datetime, why: str) -> None:
    rows = ReportNotice.objects.filter(pk=notice.pk)
    if notice.attempts >= len(_PAUSES):
        rows.update(failed_at=now, last_error=why)
    else:
        pause = timedelta(seconds=_PAUSES[notice.attempts])
        rows.update(due_at=now + pause, last_error=why)


def compose(notice: ReportNotice) -> EmailMessage:
    """The message: the report's name, whether it is ready, where it lies."""
    user = User.objects.get(user_id=notice.user_id)
    job, report = notice.run.export, notice.run.report
    name = single_line(report.name, limit=100)
    context = {
        "name": single_line(user.first_name or user.get_username(), limit=60),
        "report": name,
        "is_ready": job.state == "done",
        "link": f"{settings.PUBLIC_URL}{reverse('admin:audit_exportjob_change', args=[job.pk])}",
        "tenant": report.tenant_id,
    }
    subject = f"[ContextOS] {name}: {'ready' if job.state == 'done' else 'not written'}"
    body = render_to_string("audit/mail/report.txt", context)
    return EmailMessage(
        subject=single_line(subject, limit=150), body=body, to=[user.email], headers=_HEADERS
    )
