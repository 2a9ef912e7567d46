"""What reports read: events and decisions of a period, newest first, never more than they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db.models import OuterRef, QuerySet, Subquery

from audit.actions import catalogue
from audit.decisions import MAX_RECORD_BYTES
from audit.models import AuditEvent, DecisionBody, DecisionRow
from audit.reports.types import Period, RecordRef
from audit.selectors import told_by
from contextos.core import strict_json
from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError
from contextos.core.ids import first_id

MOST = 20_000
# Clocks of two machines differ: ids only narrow what the index reads, the stated time decides.
_SLACK = timedelta(hours=1)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """What was read; `is_cut` when there is more in the period."""

    rows: tuple[T, ...]
    is_cut: bool
    looked_at: int
    unreadable: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of what is left out."""
        cut = f"Only the latest {self.looked_at:,} rows were looked at; choose fewer days."
        gone = f"Left out, since their text can't be read: {self.unreadable:,}. Check the log."
        return (*([cut] if self.is_cut else ()), *([gone] if self.unreadable else ()))


@dataclass(frozen=True, slots=True)
class EventSeen:
    """One event, as its text tells it."""

    event_id: str
    action: str
    at: datetime
    who: str
    subject_id: str
    reason: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ref(self) -> RecordRef:
        """For a line that rests on it."""
        return RecordRef("event", self.event_id)

    def text(self, *names: str) -> str:
        """The first of these members that says something."""
        return next((str(self.data[name]) for name in names if self.data.get(name)), "")

    def moment(self, name: str) -> datetime | None:
        """A moment among the members."""
        stated = self.data.get(name)
        return parse_time(stated) if isinstance(stated, str) else None


@dataclass(frozen=True, slots=True)
class DecisionSeen:
    """One row of a decision."""

    decision_id: str
    at: datetime
    record: Mapping[str, Any]

    @property
    def ref(self) -> RecordRef:
        """For a line that rests on it."""
        return RecordRef("decision", self.decision_id)

    @property
    def capability(self) -> str:
        """What was asked for; a name that no adapter has stands for itself."""
        return str(self.record["capability"]["id"])

    @property
    def agent(self) -> str:
        """Who asked, the person last."""
        chain = [link for link in self.record["principal_chain"] if link["kind"] != "user"]
        return str(chain[0].get("display") or chain[0]["id"]) if chain else ""

    @property
    def code(self) -> str:
        """Of its error."""
        return str((self.record["error"] or {}).get("code") or "")


def actions_under(*beginnings: str) -> list[str]:
    """Every declared action that begins so."""
    return sorted(name for name in catalogue() if name.startswith(beginnings))


def events_in(
    tenant_id: str, period: Period, actions: Iterable[str], *, most: int = MOST
) -> Seen[EventSeen]:
    """Events of these kinds, newest first."""
    rows = AuditEvent.objects.filter(
        tenant_id=tenant_id,
        action__in=list(actions),
        event_id__gte=first_id("aud", period.since - _SLACK),
        event_id__lt=first_id("aud", period.until + _SLACK),
        created_at__gte=period.since,
        created_at__lt=period.until,
    )
    found = list(rows.order_by("-event_id")[: most + 1])
    read = tuple(_event(row) for row in found[:most])
    return Seen(read, len(found) > most, len(read))


def events_about(tenant_id: str, kind: str, subjects: Iterable[str]) -> list[EventSeen]:
    """Every event of some subjects, oldest first."""
    rows = AuditEvent.objects.filter(
        tenant_id=tenant_id, subject_kind=kind, subject_id__in=list(subjects)
    )
    return [_event(row) for row in rows.order_by("event_id")[:MOST]]


def heads_in(tenant_id: str, period: Period) -> QuerySet[DecisionRow]:
    """Heads of the rows of a period."""
    return DecisionRow.objects.filter(
        tenant_id=tenant_id,
        record_id__gte=first_id("rec", period.since - _SLACK),
        record_id__lt=first_id("rec", period.until + _SLACK),
        created_at__gte=period.since,
        created_at__lt=period.until,
    )


def decisions_in(
    rows: QuerySet[DecisionRow],
    *,
    most: int = MOST,
    worth: Callable[[str], bool] | None = None,
) -> Seen[DecisionSeen]:
    """Rows with their texts, newest first; `worth` spares reading texts that can't matter."""
    body = DecisionBody.objects.filter(
        record_id=OuterRef("record_id"), created_at=OuterRef("created_at")
    )
    texts = rows.annotate(text=Subquery(body.values("text")[:1])).order_by("-record_id")
    found = list(texts.values_list("decision_id", "created_at", "text")[: most + 1])
    read = [
        DecisionSeen(name, at, _read(text or ""))
        for name, at, text in found[:most]
        if worth is None or not text or worth(text)
    ]
    sound = tuple(row for row in read if row.record)
    return Seen(sound, len(found) > most, min(len(found), most), len(read) - len(sound))


def _event(row: AuditEvent) -> EventSeen:
    told = told_by(row)
    return EventSeen(
        event_id=row.event_id,
        action=row.action,
        at=row.created_at,
        who=told.who,
        subject_id=row.subject_id,
        reason=told.reason,
        data=told.data,
    )


def _read(text: str) -> Mapping[str, Any]:
    try:
        return strict_json.loads_object(text, max_bytes=MAX_RECORD_BYTES)
    except ContextOSError:
        return {}
