"""The life of a version as the log tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from audit.actions import title_of
from audit.models import AuditEvent
from audit.selectors import EventFilter, events_of, told_by
from contextos.adminkit.links import admin_url
from contextos.core.text import reveal_invisible

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Moment:
    """One event as the timeline shows it."""

    event_id: str
    action: str
    title: str
    who: str
    at: datetime
    reason: str
    url: str


def timeline_of(tenant_id: str, subject_kind: str, subject_ids: Iterable[str]) -> list[Moment]:
    """The events about some subjects of one kind, newest first."""
    found = [
        event
        for subject_id in subject_ids
        for event in events_of(
            tenant_id, EventFilter(subject_kind=subject_kind, subject_id=subject_id)
        )[:LONGEST]
    ]
    ordered = sorted(found, key=lambda event: event.event_id, reverse=True)
    return [_moment(event) for event in ordered[:LONGEST]]


def _moment(event: AuditEvent) -> Moment:
    told = told_by(event)
    return Moment(
        event_id=event.event_id,
        action=event.action,
        title=title_of(event.action),
        who=reveal_invisible(told.who),
        at=event.created_at,
        reason=reveal_invisible(told.reason),
        url=admin_url(AuditEvent, "change", event.pk),
    )
