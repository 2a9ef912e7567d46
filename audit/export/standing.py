"""Standing reports as files: the table as CSV, or everything as JSON lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from audit.export.cells import guarded
from audit.export.states import ExportFormat
from audit.models import ExportJob
from audit.record_filter import read_filter
from audit.reports.catalogue import standing_report
from audit.reports.types import Cell, Period, ReportTable
from contextos.core.canonical import canonicalise
from contextos.core.clock import format_time
from contextos.core.errors import coded_error

Write = Callable[[ReportTable, Path], None]


def write_standing(job: ExportJob, part: Path) -> int:
    """The report as it is now, about the period that was asked for; how many lines."""
    wanted = read_filter(job.filter)
    if wanted.since is None or wanted.until is None:
        raise coded_error("export.report_period")
    table = standing_report(job.standing).build(job.tenant_id, Period(wanted.since, wanted.until))
    STANDING_FORMATS[job.format](table, part)
    return len(table.rows)


def _write_csv(table: ReportTable, part: Path) -> None:
    """Titles, then the rows; figures and notes stand on the page and in the JSON lines."""
    with part.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\r\n")
        rows.writerow([column.title for column in table.columns])
        rows.writerows([_cell(value) for value in row] for row in table.rows)


def _cell(value: Cell) -> Any:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return format_time(value)
    return value if isinstance(value, int | float) else guarded(value)


def _write_jsonl(table: ReportTable, part: Path) -> None:
    with part.open("wb") as file:
        for line in _lines(table):
            file.write(canonicalise(line) + b"\n")


def _lines(table: ReportTable) -> Iterator[dict[str, Any]]:
    """First what the report is and says at a glance, then one line a row with what it rests on."""
    yield {
        "kind": "report",
        "report": table.key,
        "title": table.title,
        "question": table.question,
        "since": format_time(table.period.since),
        "until": format_time(table.period.until),
        "figures": [
            {"label": each.label, "value": _plain(each.value), "unit": each.kind.value}
            for each in table.figures
        ],
        "notes": list(table.notes),
        "rows": len(table.rows),
    }
    names = [_name(column.title) for column in table.columns]
    refs = table.refs or (None,) * len(table.rows)
    for row, ref in zip(table.rows, refs, strict=True):
        said = dict(zip(names, map(_plain, row), strict=True))
        rests_on = {"kind": ref.kind, "id": ref.id} if ref else None
        yield {"kind": "row", "values": said, "record": rests_on}


def _plain(value: Cell) -> Any:
    return format_time(value) if isinstance(value, datetime) else value


def _name(title: str) -> str:
    """`Time to decide` becomes `time_to_decide`."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")


STANDING_FORMATS: Mapping[str, Write] = MappingProxyType(
    {ExportFormat.CSV: _write_csv, ExportFormat.JSONL: _write_jsonl}
)
