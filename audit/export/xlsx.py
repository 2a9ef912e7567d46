"""Excel workbooks: typed cells, text never taken for a formula, one sheet about the export."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from audit.export.base import Totals, Writer
from audit.export.cells import is_risky, shown
from audit.export.columns import Column, chosen_columns, record_of
from audit.export.row_reading import RowReader
from audit.export.selection import Line
from audit.export.words import cover_lines
from contextos.core.canonical import MAX_SAFE_INTEGER
from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError

LONGEST_CELL = 32_767  # the format's own limit
ROWS_A_SHEET = 1_000_000  # the format's limit is 1,048,576
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "default_date_format": "yyyy-mm-dd hh:mm:ss",
}


class XlsxWriter(Writer):
    """Rows go to the disk as they come; a second sheet begins where one is full."""

    extension = "xlsx"
    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

    def begin(self) -> None:
        """The first sheet is about the export and is written last."""
        folder = self.path.with_name(f"{self.path.name}.sheets")
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._book = xlsxwriter.Workbook(str(self.path), {**_OPTIONS, "tmpdir": str(folder)})
        self._columns = chosen_columns(self.cover.columns)
        self._read = RowReader(self._columns)
        self._bold = self._book.add_format({"bold": True, "bg_color": "#E1E7EF", "bottom": 1})
        self._moment = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss.000"})
        # Excel itself marks text this way when somebody types an apostrophe before it.
        self._as_text = self._book.add_format({"quote_prefix": True})
        self._about = self._book.add_worksheet("About")
        self._sheets = 0
        self._start_sheet()

    def add(self, line: Line) -> None:
        """One row."""
        if self._row > ROWS_A_SHEET:
            self._start_sheet()
        values = self._read(record_of(line.text))
        for place, (column, value) in enumerate(zip(self._columns, values, strict=True)):
            self._put(self._sheet, self._row, place, column, value)
        self._row += 1

    def close(self, totals: Totals) -> None:
        """What it is about, then the book."""
        self._sheet.autofilter(0, 0, max(1, self._row - 1), len(self._columns) - 1)
        self._about.set_column(0, 0, 26)
        self._about.set_column(1, 1, 90)
        for number, (label, value) in enumerate(cover_lines(self.cover, totals)):
            self._about.write_string(number, 0, label, self._bold)
            self._text(self._about, number, 1, value)
        self._book.close()
        self._remove_folder()

    def abandon(self) -> None:
        """Let go of the rows that were kept apart."""
        for sheet in self._book.worksheets():
            if sheet.row_data_fh is not None:
                sheet.row_data_fh.close()
        self._book.fileclosed = True  # else its end would be written when it is forgotten
        self._remove_folder()

    def _start_sheet(self) -> None:
        self._sheets += 1
        name = "Records" if self._sheets == 1 else f"Records {self._sheets}"
        self._sheet = self._book.add_worksheet(name)
        self._sheet.freeze_panes(1, 0)
        for place, column in enumerate(self._columns):
            self._sheet.set_column(place, place, column.width)
            self._sheet.write_string(0, place, column.title, self._bold)
        self._row = 1

    def _put(self, sheet: Worksheet, row: int, place: int, column: Column, value: Any) -> None:
        if value is None or value == "":
            return
        if column.kind == "moment" and (moment := _moment(value)) is not None:
            sheet.write_datetime(row, place, moment, self._moment)
        elif isinstance(value, bool):
            sheet.write_boolean(row, place, value)
        elif _is_exact(value):
            sheet.write_number(row, place, value)
        else:
            self._text(sheet, row, place, str(value))

    def _text(self, sheet: Worksheet, row: int, place: int, value: str) -> None:
        visible = fitting(shown(value))
        if is_risky(value) or is_risky(visible):
            sheet.write_string(row, place, visible, self._as_text)
        else:
            sheet.write_string(row, place, visible)

    def _remove_folder(self) -> None:
        for path in self._folder.glob("*"):
            path.unlink(missing_ok=True)
        self._folder.rmdir()


def fitting(text: str) -> str:
    """Cut to what a cell holds, saying so."""
    if len(text) <= LONGEST_CELL:
        return text
    note = f" … ({len(text):,} characters; the whole stands in the JSON lines)"
    return text[: LONGEST_CELL - len(note)] + note


def _is_exact(value: Any) -> bool:
    """Whether a spreadsheet, which knows only doubles, shows the number as it is."""
    if not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= MAX_SAFE_INTEGER


def _moment(value: Any) -> datetime | None:
    try:
        return parse_time(str(value)).replace(tzinfo=None)
    except ContextOSError:
        return None
