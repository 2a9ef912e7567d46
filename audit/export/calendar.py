"""The whole day, week or month before a moment, as people of a time zone count them (pure)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

from contextos.core.errors import coded_error

DAILY, WEEKLY, MONTHLY = "daily", "weekly", "monthly"


def require_zone(name: str) -> str:
    """The name of a time zone that exists."""
    if name not in available_timezones():
        raise coded_error("report.time_zone_unknown")
    return name


def period_before(now: datetime, cadence: str, zone: str) -> tuple[datetime, datetime]:
    """The last whole period that has ended, in UTC."""
    today = now.astimezone(ZoneInfo(zone)).date()
    if cadence == DAILY:
        last = today
        first = today - timedelta(days=1)
    elif cadence == WEEKLY:
        last = today - timedelta(days=today.weekday())
        first = last - timedelta(days=7)
    else:
        last = today.replace(day=1)
        first = (last - timedelta(days=1)).replace(day=1)
    return _begins(first, zone), _begins(last, zone)


def next_run(now: datetime, cadence: str, zone: str, hour: int) -> datetime:
    """The first due moment after now."""
    day = now.astimezone(ZoneInfo(zone)).date()
    for _ in range(64):
        due = datetime.combine(day, time(hour), tzinfo=ZoneInfo(zone)).astimezone(UTC)
        if due > now and _is_due_day(day, cadence):
            return due
        day += timedelta(days=1)
    raise ValueError(f"no due day for {cadence}")


def _is_due_day(day: date, cadence: str) -> bool:
    if cadence == WEEKLY:
        return day.weekday() == 0
    return cadence == DAILY or day.day == 1


def _begins(day: date, zone: str) -> datetime:
    return datetime.combine(day, time.min, tzinfo=ZoneInfo(zone)).astimezone(UTC)
