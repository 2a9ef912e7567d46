"""The life of a version as the log tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from audit.actions import title_of
from audit.models import AuditEvent
from audit.selectors import EventFilter, events_of
from contextos.adminkit.links import admin_url
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
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
    record = _record(event)
    actor = record.get("actor")
    name = actor.get("display") if isinstance(actor, dict) else None
    return Moment(
        event_id=event.event_id,
        action=event.action,
        title=title_of(event.action),
        who=reveal_invisible(str(name or event.actor_id)),
        at=event.created_at,
        reason=reveal_invisible(str(record.get("reason") or "")),
        url=admin_url(AuditEvent, "change", event.pk),
    )


def _record(event: AuditEvent) -> dict[str, object]:
    try:
        return dict(strict_json.loads_object(event.text))
    except ContextOSError:
        return {}
