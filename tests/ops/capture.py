"""Reads the log as it would be written."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from contextos.core import strict_json
from contextos.logs import formatter


class WrittenLog:
    """What was written since the log was opened."""

    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    @property
    def text(self) -> str:
        """Everything, as written."""
        return self._stream.getvalue()

    @property
    def records(self) -> list[dict[str, Any]]:
        """Each line as the JSON object it is."""
        return [dict(strict_json.loads_object(line)) for line in self.text.splitlines()]

    def named(self, event: str) -> list[dict[str, Any]]:
        """The records of one event."""
        return [record for record in self.records if record["event"] == event]


@contextmanager
def written_log(style: str = "json", level: int = logging.INFO) -> Iterator[WrittenLog]:
    """Add a second handler like the product's own, and read what it writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter(style))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(level)
    try:
        yield WrittenLog(stream)
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
