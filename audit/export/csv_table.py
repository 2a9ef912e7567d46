"""CSV as RFC 4180 has it: a header, CRLF, quotes where needed; no cell is taken for a formula."""

from __future__ import annotations

import csv
import io
import os
from typing import IO, Any

from audit.export.base import Totals, Writer
from audit.export.cells import guarded
from audit.export.columns import chosen_columns, record_of
from audit.export.selection import Line

_BUFFER = 1024 * 1024
_FLUSH_ROWS = 500


class CsvWriter(Writer):
    """A table of the chosen columns, UTF-8, times in UTC."""

    extension = "csv"
    media_type = "text/csv"
    resumable = True

    def begin(self) -> None:
        """The header stands once, also after a resumption."""
        self._readers = [column.read for column in chosen_columns(self.cover.columns)]
        self._file: IO[bytes] = self.path.open("ab" if self.resumed else "wb", buffering=_BUFFER)
        self._text = io.StringIO()
        self._rows = csv.writer(self._text, lineterminator="\r\n")
        self._held = 0
        if not self.resumed:
            self._rows.writerow([column.name for column in chosen_columns(self.cover.columns)])

    def add(self, line: Line, text: bytes) -> None:
        """One row."""
        record = record_of(text)
        self._rows.writerow([_cell(read(record)) for read in self._readers])
        self._held += 1
        if self._held >= _FLUSH_ROWS:
            self._pass_on()

    def settle(self) -> int:
        """Written through to the disk."""
        self._pass_on()
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self, totals: Totals) -> None:
        """A header alone is a valid table too."""
        self.settle()
        self._file.close()

    def abandon(self) -> None:
        """Close the file."""
        self._file.close()

    def _pass_on(self) -> None:
        self._file.write(self._text.getvalue().encode())
        self._text.seek(0)
        self._text.truncate()
        self._held = 0


def _cell(value: Any) -> Any:
    """Numbers as they are, absent values empty, everything else as guarded text."""
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    return guarded(str(value))
