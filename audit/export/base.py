"""What every writer of a format is given, and what the runner asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from audit.export.selection import Block, Line, Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """What an export says about itself: whose records, which, for whom."""

    export_id: str
    tenant_id: str
    tenant_name: str
    title: str
    wanted: Mapping[str, str]
    requested_by: str
    requested_at: datetime
    selection: Selection
    columns: Sequence[str] = ()
    sample: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Totals:
    """What was counted on the way."""

    rows: int = 0
    missing: int = 0  # selected, but their stored text is not there
    population: int | None = None  # of a sample: how many it was drawn from
    notes: list[str] = field(default_factory=list)


class Writer(ABC):
    """Writes one file. A resumable one can go on behind the bytes that were settled."""

    extension: ClassVar[str]
    media_type: ClassVar[str]
    resumable: ClassVar[bool] = False

    def __init__(
        self, path: Path, cover: Cover, *, pulse: Callable[[], None], resumed: bool = False
    ) -> None:
        self.path, self.cover, self.resumed = path, cover, resumed
        self.pulse = pulse  # to be called now and then by who works for long, never while adding
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Open the file; `resumed` says that it holds the settled bytes already."""

    def add_block(self, block: Block) -> None:
        """Some more records, as their canonical bytes. Asks nothing of the database, which still
        sends rows on the same connection."""
        for line in block.lines():
            self.add(line)

    @abstractmethod
    def add(self, line: Line) -> None:
        """One more record."""

    def settle(self) -> int:
        """Bring what was added to the disk; how many bytes now stand for good."""
        return 0

    @abstractmethod
    def close(self, totals: Totals) -> None:
        """Write what comes last; after this the file is whole."""

    @abstractmethod
    def abandon(self) -> None:
        """Let go of what is open; the file is removed by whoever asked for it."""
