"""JSON lines: the canonical text of each record, byte for byte, one a line."""

from __future__ import annotations

import os
from typing import IO

from audit.export.base import Totals, Writer
from audit.export.selection import Block, Line

_BUFFER = 1024 * 1024


class JsonLinesWriter(Writer):
    """Every line can be hashed as it stands: it is what was recorded."""

    extension = "jsonl"
    media_type = "application/jsonl"
    resumable = True

    def begin(self) -> None:
        """Append to what is settled, or start an empty file."""
        self._file: IO[bytes] = self.path.open("ab" if self.resumed else "wb", buffering=_BUFFER)

    def add_block(self, block: Block) -> None:
        """The texts as they were stored, all at once."""
        self._file.write(block.texts)

    def add(self, line: Line) -> None:
        """The text as it was stored."""
        self._file.write(line.text + b"\n")

    def settle(self) -> int:
        """Written through to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self, totals: Totals) -> None:
        """Nothing comes last."""
        self.settle()
        self._file.close()

    def abandon(self) -> None:
        """Close the file."""
        self._file.close()
