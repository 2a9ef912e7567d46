"""Notices are kept for a while, and what still has to be sent for as long as it takes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from approvals.models import Notice
from approvals.outbox import KEPT
from approvals.tasks import forget_notices
from tests.approvals.notice_rows import make_notice
from tests.factories import make_tenant


def test_only_what_ended_long_ago_is_forgotten(db: None) -> None:
    tenant, now = make_tenant(), timezone.now()
    long_ago, lately = now - KEPT - timedelta(hours=1), now - KEPT + timedelta(hours=1)
    rows: dict[str, dict[str, Any]] = {
        "given up long ago": {"due_at": long_ago},
        "sent long ago": {"due_at": long_ago, "failed_at": None, "sent_at": long_ago},
        "due long ago": {"due_at": long_ago, "failed_at": None},
        "sent lately": {"due_at": lately, "failed_at": None, "sent_at": lately},
    }
    for name, columns in rows.items():
        mark = make_notice(tenant, name).pk
        Notice.objects.filter(pk=mark).update(**columns)
    forget_notices()
    left = set(Notice.objects.values_list("approval_id", flat=True))
    assert left == {"due long ago", "sent lately"}
