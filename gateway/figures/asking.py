"""The range somebody asks for: checked, rounded to whole spans, and kept within their window."""

from __future__ import annotations

from datetime import datetime, timedelta

from audit.access import UNLIMITED, Viewer, window_of
from contextos.core.clock import parse_time, utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.identity.roles import AUDITOR
from gateway.figures.spans import Range, range_of

USUAL = timedelta(hours=24)
LONGEST = timedelta(days=366)


def asked_range(since: str, until: str) -> Range:
    """The whole spans between two moments; the last day where nothing is said."""
    now = utcnow()
    end = _moment(until, "to") if until else now
    start = _moment(since, "from") if since else end - USUAL
    if start >= end or end - start > LONGEST:
        raise coded_error("figures.range_invalid")
    return range_of(start, end, now=now)


def range_for(person: Viewer, roles: frozenset[str], tenant_id: str, asked: Range) -> Range:
    """What of a range this person may be shown: an auditor's access can be to a period only."""
    if AUDITOR not in roles or roles & UNLIMITED:
        return asked
    window = window_of(person, tenant_id)
    inside = asked.within(window.data_from, window.data_until)
    if inside is None:
        raise coded_error("auditor.outside_window", data=window.as_record())
    return inside


def _moment(text: str, name: str) -> datetime:
    try:
        return parse_time(text.strip().replace(" ", "+"))
    except ContextOSError:
        message = f"`{name}` is no RFC 3339 time such as 2026-01-31T12:00:00Z."
        raise coded_error("figures.range_invalid", message=message) from None
