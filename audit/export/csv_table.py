"""CSV as RFC 4180 has it: a header, CRLF, quotes where needed; no cell is taken for a formula."""

from __future__ import annotations

import csv
import os
from types import SimpleNamespace
from typing import IO, Any

from audit.export.base import Totals, Writer
from audit.export.cells import guarded
from audit.export.columns import chosen_columns, record_of
from audit.export.row_reading import RowReader
from audit.export.selection import Block, Line

_BUFFER = 1024 * 1024
# Cells that begin with none of these need no guard; other risky characters are not plain.
_AS_DOUBTFUL = bytes.maketrans(b"=+-@ ", b"=====")


class CsvWriter(Writer):
    """A table of the chosen columns, UTF-8, times in UTC."""

    extension = "csv"
    media_type = "text/csv"
    resumable = True

    def begin(self) -> None:
        """The header stands once, also after a resumption."""
        columns = chosen_columns(self.cover.columns)
        self._read, self._commas = RowReader(columns), len(columns) - 1
        self._file: IO[bytes] = self.path.open("ab" if self.resumed else "wb", buffering=_BUFFER)
        self._lines: list[bytes] = []
        sink = SimpleNamespace(write=lambda line: self._lines.append(line.encode()))
        self._write_quoted = csv.writer(sink, lineterminator="\r\n").writerow
        if not self.resumed:
            self._write_quoted([column.name for column in columns])

    def add_block(self, block: Block) -> None:
        """The rows of a block, passed on together."""
        for text in block.each():
            self._add(text)
        self._pass_on()

    def add(self, line: Line) -> None:
        """One row."""
        self._add(line.text)

    def _add(self, text: bytes) -> None:
        """Rows in which no cell needs a guard or quotes, which are nearly all, go the short way."""
        values = self._read(record_of(text))
        cells = [value if value.__class__ is str else _plainly(value) for value in values]
        row = ",".join(cells).encode()
        if _is_plain(text) and row.count(b",") == self._commas and not _has_doubtful(row):
            self._lines += row, b"\r\n"
        else:
            self._write_quoted([_cell(value) for value in values])

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
        self._file.write(b"".join(self._lines))
        self._lines.clear()


def _is_plain(text: bytes) -> bool:
    """Whether every value of a record is printable ASCII without quotes: JSON escapes the rest."""
    return text.isascii() and b"\\" not in text and b"\x7f" not in text


def _has_doubtful(row: bytes) -> bool:
    """Whether a cell begins with one of them; asked of the whole row at once."""
    marked = row.translate(_AS_DOUBTFUL)
    return b",=" in marked or marked.startswith(b"=")


def _cell(value: Any) -> Any:
    """Numbers as they are, everything else as guarded text."""
    return value if type(value) in (int, float) else guarded(_plainly(value))


def _plainly(value: Any) -> str:
    """Absent values are empty."""
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    return str(value)
