"""Who looks at a report: the period they may read of it, and the trace that an auditor leaves."""

from __future__ import annotations

from datetime import datetime

from audit.access import Window
from audit.reports.types import Period, ReportTable, StandingReport
from audit.services import record_event
from contextos.core.clock import format_time
from contextos.core.errors import coded_error
from contextos.core.events import Actor


def period_within(window: Window, since: datetime, until: datetime) -> Period:
    """What of a period somebody may read; a refusal when that is nothing."""
    start = max(since, window.data_from) if window.data_from else since
    end = min(until, window.data_until) if window.data_until else until
    if start >= end:
        raise coded_error("auditor.outside_window", data=window.as_record())
    return Period(start, end)


def view_report(
    report: StandingReport, *, window: Window, since: datetime, until: datetime, actor: Actor
) -> ReportTable:
    """The report as this person may see it; an auditor's look is recorded."""
    period = period_within(window, since, until)
    if window.is_auditor:
        record_event(
            tenant_id=window.tenant_id,
            action="audit.report.viewed",
            actor=actor,
            subject_kind="report",
            subject_id=report.key,
            data={
                "since": format_time(period.since),
                "until": format_time(period.until),
                "window": window.as_record(),
            },
        )
    return report.build(window.tenant_id, period)
