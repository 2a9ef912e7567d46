"""Reading the log: pages without counting, and checking a row against itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import QuerySet

from audit.event_record import RECORD_VERSION, derived_columns, leaf_hash, record_hash
from audit.models import AuditEvent
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.errors import ContextOSError

MAX_PAGE = 500
DifferenceKind = Literal["unreadable", "not_canonical", "record_hash", "leaf_hash", "column"]


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What to look for within one tenant; None leaves a field open."""

    action: str | None = None
    actor_id: str | None = None
    subject_kind: str | None = None
    subject_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def lookups(self) -> dict[str, Any]:
        """The same as query lookups."""
        wanted = {
            "action": self.action,
            "actor_id": self.actor_id,
            "subject_kind": self.subject_kind,
            "subject_id": self.subject_id,
            "created_at__gte": self.since,
            "created_at__lt": self.until,
        }
        return {name: value for name, value in wanted.items() if value is not None}


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, newest first, and the cursor of the next page."""

    events: tuple[AuditEvent, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class EventDifference:
    """One way in which a stored row contradicts itself."""

    kind: DifferenceKind
    field: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Told:
    """What an event's text says to people; where somebody damaged it, what its columns say."""

    record: Mapping[str, Any]
    who: str  # by the name they had then
    reason: str
    data: Mapping[str, Any]


def told_by(event: AuditEvent) -> Told:
    """The text, read for a page or a report."""
    try:
        record = strict_json.loads_object(event.text)
    except ContextOSError:
        record = {}
    actor, data = _member(record, "actor"), _member(record, "data")
    who = str(actor.get("display") or event.actor_id)
    return Told(record, who, str(record.get("reason") or ""), data)


def _member(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def events_of(tenant_id: str, wanted: EventFilter | None = None) -> QuerySet[AuditEvent]:
    """A tenant's events, newest first."""
    lookups = (wanted or EventFilter()).lookups()
    return AuditEvent.objects.filter(tenant_id=tenant_id, **lookups).order_by("-event_id")


def page_of_events(
    tenant_id: str,
    wanted: EventFilter | None = None,
    *,
    cursor: str | None = None,
    limit: int = 50,
) -> EventPage:
    """One page after `cursor`; costs the same at the millionth row as at the first."""
    size = max(1, min(limit, MAX_PAGE))
    rows = events_of(tenant_id, wanted)
    if cursor is not None:
        rows = rows.filter(event_id__lt=cursor)
    found = tuple(rows[: size + 1])
    more = len(found) > size
    return EventPage(events=found[:size], next_cursor=found[size - 1].event_id if more else None)


def verify_event(row: AuditEvent) -> tuple[EventDifference, ...]:
    """Every contradiction between text, hashes and columns; empty means the row is as written."""
    differences = _leaf_differences(row)
    try:
        record = strict_json.loads_object(row.text)
        canonical = canonicalise(record).decode("utf-8")
        columns = derived_columns(record)
    except (ContextOSError, KeyError, TypeError):
        unreadable = EventDifference("unreadable", "text", RECORD_VERSION, "no such record")
        return (*differences, unreadable)
    if canonical != row.text:
        differences.append(EventDifference("not_canonical", "text", canonical, row.text))
    return (*differences, *_hash_differences(record), *_column_differences(row, columns))


def _leaf_differences(row: AuditEvent) -> list[EventDifference]:
    expected, found = leaf_hash(row.text).hex(), bytes(row.leaf_hash).hex()
    return [] if expected == found else [EventDifference("leaf_hash", "leaf_hash", expected, found)]


def _hash_differences(record: Mapping[str, Any]) -> list[EventDifference]:
    expected, found = record_hash(record), str(record.get("record_hash"))
    if expected == found:
        return []
    return [EventDifference("record_hash", "record_hash", expected, found)]


def _column_differences(row: AuditEvent, columns: Mapping[str, Any]) -> list[EventDifference]:
    return [
        EventDifference("column", name, str(expected), str(getattr(row, name)))
        for name, expected in columns.items()
        if getattr(row, name) != expected
    ]
