"""How far an export came, without counting: ids carry their time, so the cursor says it."""

from __future__ import annotations

from audit.export.states import ExportState
from audit.models import ExportJob
from contextos.core.errors import ContextOSError
from contextos.core.ids import parse_id

_NEARLY = 0.99  # the last hundredth is the file's end and its name


def progress_of(job: ExportJob) -> float:
    """From 0 to 1; 1 only when the file is there."""
    if job.state == ExportState.DONE:
        return 1.0
    if not job.cursor or job.cursor == job.first:
        return 0.0
    try:
        first, last, now = (parse_id(each).created_at for each in (job.first, job.last, job.cursor))
    except ContextOSError:
        return 0.0
    whole = (last - first).total_seconds()
    return round(min(_NEARLY, (now - first).total_seconds() / whole), 4) if whole > 0 else _NEARLY
