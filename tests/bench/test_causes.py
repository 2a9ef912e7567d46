"""The page of the benchmarks names every aim that is missed, and the cause of it."""

from __future__ import annotations

from tests.bench.causes import NOT_KNOWN, missed_of
from tests.bench.measure import Row, in_turns
from tests.bench.promised import PROMISED, missing_of, said_of
from tests.ops.environment import ROOT

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


def test_the_page_has_every_promised_row_and_says_which_one_was_not_measured() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    table = [{"name": line.split(" | ")[0].removeprefix("| ")} for line in page.splitlines()]
    assert missing_of(table) == []
    assert missing_of([{"name": name} for name in PROMISED[1:]]) == ["read_only_added_p50_ms"]
    assert "`read_only_added_p50_ms`" in said_of(PROMISED[:1])
    assert said_of([]) == ""


def test_turns_alternate_and_every_call_is_timed() -> None:
    order: list[str] = []
    spent = in_turns(lambda: order.append("a"), lambda: order.append("b"), calls=4)
    assert "".join(order) == "baabbaab"
    assert [len(times) for times in spent] == [4, 4]
