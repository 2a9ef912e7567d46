"""What a report is: a question, figures, a table, and the records that each line rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

# Plain values: pages, spreadsheets and PDFs each write them in their own way.
Cell = str | int | float | datetime | None


class Kind(StrEnum):
    """How a value is meant, so that every form writes it alike."""

    TEXT = "text"
    NUMBER = "number"
    SHARE = "share"  # 0 to 1
    SECONDS = "seconds"
    MOMENT = "moment"  # UTC


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment on, up to another, which is not included."""

    since: datetime
    until: datetime

    def __post_init__(self) -> None:
        if self.since.tzinfo is None or self.until.tzinfo is None:
            raise ValueError("a period needs moments with a time zone")
        if self.since >= self.until:
            raise ValueError("a period ends after it begins")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    kind: Kind = Kind.TEXT


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that answers the question at a glance."""

    label: str
    value: Cell
    kind: Kind = Kind.NUMBER
    says: str = ""  # how it is counted


@dataclass(frozen=True, slots=True)
class RecordRef:
    """A row of the log: a decision or an event."""

    kind: Literal["decision", "event"]
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """One report about one period. `refs` stands beside `rows`, one for each line, or is empty."""

    key: str
    title: str
    question: str
    period: Period
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    refs: tuple[RecordRef | None, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"report {self.key}: a row is as wide as the table")
        if self.refs and len(self.refs) != len(self.rows):
            raise ValueError(f"report {self.key}: one reference for each row, or none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a report found; its title and its question are its own."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    refs: tuple[RecordRef | None, ...] = ()


@dataclass(frozen=True, slots=True)
class StandingReport:
    """A report that can always be asked for, by its key."""

    key: str
    title: str
    question: str
    contents: Callable[[str, Period], Contents]  # of a tenant, in a period

    def build(self, tenant_id: str, period: Period) -> ReportTable:
        """The report about one tenant and one period."""
        found = self.contents(tenant_id, period)
        return ReportTable(
            key=self.key,
            title=self.title,
            question=self.question,
            period=period,
            columns=found.columns,
            rows=found.rows,
            figures=found.figures,
            notes=found.notes,
            refs=found.refs,
        )
