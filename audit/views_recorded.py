"""Every look of an auditor is itself recorded, once a minute for the same thing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from audit.access import Window
from audit.models import AuditEvent
from audit.record_filter import RecordFilter
from audit.services import record_event
from contextos.core.canonical import digest
from contextos.core.events import Actor
from contextos.core.ids import first_id
from contextos.core.text import single_line

VIEWED, SEARCHED = "audit.record.viewed", "audit.records.searched"
PAGE = "audit.page.viewed"
LONGEST_PATH = 200


def record_view(*, window: Window, actor: Actor, decision_id: str, surface: str) -> None:
    """An auditor opened one decision."""
    _record_once(
        window=window,
        actor=actor,
        action=VIEWED,
        subject=("decision", decision_id),
        data={"surface": surface},
    )


def record_search(*, window: Window, actor: Actor, wanted: RecordFilter, surface: str) -> None:
    """An auditor looked for records; paging through one search is one look."""
    given = wanted.as_given()
    _record_once(
        window=window,
        actor=actor,
        action=SEARCHED,
        subject=("search", digest(given).removeprefix("sha256:")[:32]),
        data={"surface": surface, "filter": given},
    )


def record_page(*, tenant_id: str, actor: Actor, path: str, surface: str) -> None:
    """An auditor was shown anything else: which address."""
    _once_a_minute(
        tenant_id=tenant_id,
        actor=actor,
        action=PAGE,
        subject=("page", single_line(path, limit=LONGEST_PATH)),
        data={"surface": surface},
    )


def _record_once(
    *, window: Window, actor: Actor, action: str, subject: tuple[str, str], data: dict[str, Any]
) -> None:
    if window.is_auditor:
        _once_a_minute(
            tenant_id=window.tenant_id,
            actor=actor,
            action=action,
            subject=subject,
            data={**data, "window": window.as_record()},
        )


def _once_a_minute(
    *, tenant_id: str, actor: Actor, action: str, subject: tuple[str, str], data: dict[str, Any]
) -> None:
    kind, subject_id = subject
    earlier = AuditEvent.objects.filter(
        tenant_id=tenant_id,
        subject_kind=kind,
        subject_id=subject_id,
        actor_id=actor.id,
        action=action,
        event_id__gte=first_id("aud", _minute(timezone.now())),
    )
    if not earlier.exists():
        record_event(
            tenant_id=tenant_id,
            action=action,
            actor=actor,
            subject_kind=kind,
            subject_id=subject_id,
            data=data,
        )


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)
