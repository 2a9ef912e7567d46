"""The page of the benchmarks names every aim that is missed, and the cause of it."""

from __future__ import annotations

from tests.bench.causes import NOT_KNOWN, missed_of
from tests.bench.measure import Row

ROWS = [
    Row("added_ms", 5.0, "ms", must=6, aim=4.5).as_dict(),
    Row("per_s", 300, "calls/s", must=250, aim=400, higher_is_better=True).as_dict(),
    Row("met_ms", 4.0, "ms", must=6, aim=4.5).as_dict(),
    Row("met_per_s", 500, "calls/s", must=250, aim=400, higher_is_better=True).as_dict(),
    Row("errors", 0, "answers", must=0, aim=0).as_dict(),
]


def test_every_missed_aim_stands_there_with_its_cause() -> None:
    said = missed_of(ROWS, {"added_ms": "Two commits wait for the disk.", "met_ms": "Unused."})
    assert "| added_ms | 5.0 | 4.5 | Two commits wait for the disk. |" in said
    assert f"| per_s | 300 | 400 | {NOT_KNOWN} |" in said
    assert "met_" not in said
    assert "errors" not in said


def test_no_missed_aim_is_said_so() -> None:
    assert "Every aim is met." in missed_of(ROWS[2:])
