"""The states of an export, as data."""

from __future__ import annotations

from django.db import models

from contextos.core.states import TransitionTable


class ExportState(models.TextChoices):
    """Where an export stands; only `done` has a file to offer."""

    QUEUED = "queued", "Waiting for a worker"
    RUNNING = "running", "Being written"
    DONE = "done", "Ready"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class ExportFormat(models.TextChoices):
    """What an export can be written as."""

    CSV = "csv", "CSV table"
    JSONL = "jsonl", "JSON lines"
    XLSX = "xlsx", "Excel workbook"
    PDF = "pdf", "PDF report"
    BUNDLE = "bundle", "Signed bundle"


_ENDS = (ExportState.DONE, ExportState.FAILED, ExportState.CANCELLED)

EXPORTS = TransitionTable(
    "export",
    initial=ExportState.QUEUED,
    transitions={
        ExportState.QUEUED: [ExportState.RUNNING, ExportState.FAILED, ExportState.CANCELLED],
        # From running to running: another worker takes over once a lease ran out.
        ExportState.RUNNING: [ExportState.RUNNING, *_ENDS],
    },
    terminal=_ENDS,
)
OPEN = (ExportState.QUEUED, ExportState.RUNNING)
ENDED = tuple(state.value for state in _ENDS)
