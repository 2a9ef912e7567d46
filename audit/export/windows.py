"""An auditor's window in exports: it narrows what is asked for and is asked anew at every step."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from audit.access import Window, window_of
from audit.clearance import CLASS_OF_VALUES, Clearance
from audit.models import ExportJob
from audit.record_filter import RecordFilter, read_filter
from contextos.core.errors import ContextOSError, coded_error


def everything(tenant_id: str) -> Window:
    """The window of a command that whoever runs the installation started."""
    return Window(user_id="", tenant_id=tenant_id, clearance=Clearance.RESTRICTED)


def narrowed(wanted: RecordFilter, window: Window) -> RecordFilter:
    """The filter within the window; one that lies wholly outside is refused, not emptied."""
    starts = [_whole(each) for each in (wanted.since, window.data_from) if each is not None]
    ends = [_whole(each) for each in (wanted.until, window.data_until) if each is not None]
    found = replace(
        wanted,
        since=max(starts) if starts else None,
        until=min(ends) if ends else None,
    )
    if found.since and found.until and found.since >= found.until:
        raise _outside(window)
    if found.asks_for_values and not window.reads(CLASS_OF_VALUES):
        raise coded_error("auditor.clearance_needed", data={"parameter": "amount_min"})
    return found


def _whole(moment: datetime) -> datetime:
    """The next whole millisecond: the same records lie behind it, as theirs are whole, and unlike
    a finer moment it is still itself after it was written down."""
    try:
        return moment + timedelta(microseconds=-moment.microsecond % 1000)
    except OverflowError:
        return moment.replace(microsecond=999_000)


def require_within(job: ExportJob, window: Window) -> None:
    """Refuse an export whose records this person may not all read now."""
    wanted = read_filter(job.filter)
    if narrowed(wanted, window) != wanted:
        raise _outside(window)


def window_to_write(job: ExportJob) -> Window:
    """Asked when the file is written: who asked for it may have lost their access meanwhile."""
    if job.requested_by_kind != "user":
        return everything(job.tenant_id)
    window = window_of(job.requested_by, job.tenant_id)
    require_within(job, window)
    return window


def _outside(window: Window) -> ContextOSError:
    return coded_error("auditor.outside_window", data=window.as_record())
