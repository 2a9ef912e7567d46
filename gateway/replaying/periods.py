"""The decisions of a period, a page at a time: memory does not grow with the period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from audit.models import DecisionRow
from contextos.core.clock import format_time, parse_time
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import first_id

AT_ONCE = 200  # arguments may be large: never all of them in memory
# An id is made a moment before its row, on a clock that may be a little off.
_SLACK = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment on, and up to another one."""

    since: datetime
    until: datetime

    def __post_init__(self) -> None:
        if self.since >= self.until:
            raise coded_error(
                "replay.period_invalid", message="The period ends before it has begun."
            )

    @property
    def words(self) -> str:
        """The period as people and events read it."""
        return f"{format_time(self.since)} to {format_time(self.until)}"

    def share(self, moment: datetime) -> float:
        """How far into the period a moment lies, between nothing and all of it."""
        done = (moment - self.since) / (self.until - self.since)
        return max(0.0, min(1.0, done))


def read_moment(text: str) -> datetime:
    """A day, which begins at midnight UTC, or a moment in RFC 3339."""
    try:
        if len(text) == len("2026-11-01"):
            return datetime.combine(date.fromisoformat(text), time(), tzinfo=UTC)
        return parse_time(text)
    except (ValueError, ContextOSError):
        message = f"{text[:40]!r} is neither a day nor a moment."
        raise coded_error("replay.period_invalid", message=message) from None


def decisions_in(
    tenant_id: str, period: Period, *, after: str = "", at_once: int = AT_ONCE
) -> Iterator[list[DecisionRow]]:
    """The first rows of the decisions of a period, oldest first; `after` goes on from a row."""
    rows = DecisionRow.objects.filter(
        tenant_id=tenant_id,
        seq=1,
        created_at__gte=period.since,
        created_at__lt=period.until,
        record_id__gte=first_id("rec", period.since - _SLACK),
        record_id__lt=first_id("rec", period.until + _SLACK),
    ).order_by("record_id")
    while True:
        page = list((rows.filter(record_id__gt=after) if after else rows)[:at_once])
        if page:
            yield page
        if len(page) < at_once:
            return
        after = page[-1].record_id
