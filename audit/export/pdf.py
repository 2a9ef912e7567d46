"""A report to be read and filed: cover, figures, charts, a table of the first records."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from audit.export.base import Totals, Writer
from audit.export.columns import BY_NAME, Column, record_of
from audit.export.pdf_page import Sheet
from audit.export.pdf_parts import (
    Bar,
    draw_bars,
    draw_columns,
    draw_figures,
    draw_lines,
    draw_table,
)
from audit.export.selection import Line
from audit.export.words import cover_lines
from contextos.core.clock import format_time, utcnow

# Nobody reads more on paper; totals and charts are over all records, whatever their number.
SHOWN = 2_000
MOST_COLUMNS = 9
_KEPT = 500  # distinct names that are counted one by one
_USUAL = (
    *("created_at", "decision_id", "status", "capability", "mode_effective"),
    *("user", "agent", "approvers", "error_code"),
)
_OUTCOMES = ("executed", "allowed", "pending", "denied", "failed", "unknown")


class PdfWriter(Writer):
    """Counts while records come, draws when they have all come; memory holds what is shown."""

    extension = "pdf"
    media_type = "application/pdf"

    def begin(self) -> None:
        """Nothing is drawn before the totals are known."""
        chosen = self.cover.columns[:MOST_COLUMNS] or _USUAL
        self._columns: tuple[Column, ...] = tuple(BY_NAME[name] for name in chosen)
        self._rows: list[list[str]] = []
        self._outcomes: Counter[str] = Counter()
        self._capabilities: Counter[str] = Counter()
        self._days: Counter[str] = Counter()
        self._content = hashlib.sha256()
        self._decisions = 0

    def add(self, line: Line) -> None:
        """Count it, and keep the first ones for the table."""
        record = record_of(line.text)
        self._content.update(line.text + b"\n")
        self._decisions += record.get("seq") == 1
        self._outcomes[str(record.get("outcome"))] += 1
        self._days[str(record.get("created_at"))[:10]] += 1
        name = str((record.get("capability") or {}).get("id"))
        known = name in self._capabilities or len(self._capabilities) < _KEPT
        self._capabilities[name if known else "(others)"] += 1
        if len(self._rows) < SHOWN:
            self._rows.append([_words(column, record) for column in self._columns])

    def close(self, totals: Totals) -> None:
        """Draw the pages."""
        written = format_time(utcnow())
        digest = self._content.hexdigest()
        sheet = Sheet(
            self.path, title=self.cover.title, footer=f"{self.cover.export_id} · {digest}"
        )
        sheet.band(self.cover.title, f"{self.cover.tenant_name} · decision records")
        lines = [line for line in cover_lines(self.cover, totals) if line[0] != "Title"]
        lines.append(("Written at (UTC)", written))
        lines.append(("Content hash", f"sha256:{digest}"))
        lines.append(("Table", self._extent(totals)))
        draw_lines(sheet, lines)
        sheet.note(
            "The content hash is the SHA-256 of these records as JSON lines: an export of the same "
            "records in that format has it. A signed bundle proves them."
        )
        if totals.rows:
            self._draw_sums(sheet, totals)
            self._draw_table(sheet, totals)
        else:
            sheet.heading("No record matches")
            sheet.note("The filter above selects nothing, so there are no figures and no table.")
        sheet.save()

    def abandon(self) -> None:
        """Nothing is open."""
        self._rows.clear()

    def _draw_sums(self, sheet: Sheet, totals: Totals) -> None:
        figures = [("Records", totals.rows), ("Decisions begun", self._decisions)]
        figures += [(name.capitalize(), self._outcomes[name]) for name in _OUTCOMES]
        draw_figures(sheet, figures)
        sheet.heading("Records by outcome")
        draw_bars(sheet, _bars(self._outcomes, len(_OUTCOMES)))
        sheet.heading("Records by capability")
        draw_bars(sheet, _bars(self._capabilities, 8))
        sheet.heading("Records over time", room=150)
        draw_columns(sheet, _over_time(self._days))

    def _extent(self, totals: Totals) -> str:
        """How much of it all stands in the table, said before anybody looks for a row in vain."""
        if totals.rows <= len(self._rows):
            return f"all {totals.rows:,} records"
        return (
            f"the first {len(self._rows):,} of {totals.rows:,} records, oldest first; figures and "
            "charts are over all of them"
        )

    def _draw_table(self, sheet: Sheet, totals: Totals) -> None:
        sheet.turn()
        sheet.heading("Records")
        if totals.rows > len(self._rows):
            sheet.note(
                f"The first {len(self._rows):,} of {totals.rows:,} records, oldest first. All of "
                "them stand in the JSON lines, CSV, Excel and bundle forms of this export."
            )
        draw_table(sheet, self._columns, self._rows)


def _bars(counted: Counter[str], most: int) -> list[Bar]:
    """The largest, and everything else as one bar."""
    shown = counted.most_common(most)
    rest = sum(counted.values()) - sum(number for _, number in shown)
    bars = [Bar(name, number) for name, number in shown]
    return [*bars, Bar("everything else", rest)] if rest else bars


def _over_time(days: Counter[str]) -> list[Bar]:
    """By day, by month where there are many days, by year where there are many months."""
    for length in (10, 7, 4):
        grouped: Counter[str] = Counter()
        for day, number in days.items():
            grouped[day[:length]] += number
        if len(grouped) <= 62:
            break
    return [Bar(name, grouped[name]) for name in sorted(grouped)][-62:]


def _words(column: Column, record: Mapping[str, Any]) -> str:
    value = column.read(record)
    if value is None:
        return ""
    if column.kind == "moment":  # to the second; UTC stands in the title
        return str(value).replace("T", " ")[:19]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)[:500]
