"""Standing reports for auditors: each answers one question from the log's rows alone (E3)."""

from audit.reports.types import (
    Cell,
    Column,
    Contents,
    Figure,
    Kind,
    Period,
    RecordRef,
    ReportTable,
    StandingReport,
)

__all__ = [
    "Cell",
    "Column",
    "Contents",
    "Figure",
    "Kind",
    "Period",
    "RecordRef",
    "ReportTable",
    "StandingReport",
]
