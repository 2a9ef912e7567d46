"""What stands in the files, with hostile text in every field."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pypdf
import pytest

from audit.export import pdf, xlsx
from audit.export.cells import RISKY, guarded
from audit.export.columns import COLUMNS, NAMES
from audit.export.files import sha256_of
from contextos.core import strict_json
from contextos.core.text import has_invisible
from tests.audit.export_world import HOSTILE, ExportWorld, make_export_world, texts_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def hostile() -> ExportWorld:
    return make_export_world(records=1, hostile=True)


def _table(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True))


# --- JSON lines -----------------------------------------------------------------------------------
def test_json_lines_are_the_stored_bytes_whatever_they_say(hostile: ExportWorld) -> None:
    _, path = hostile.export("jsonl")
    lines = path.read_bytes().decode().split("\n")
    assert lines == [*texts_of(hostile.tenant.pk), ""]


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_a_filter_that_matches_nothing_gives_a_valid_empty_file(
    hostile: ExportWorld, format_: str
) -> None:
    job, path = hostile.export(format_, {"user": "nobody"})
    assert job.rows == 0
    expected = b"" if format_ == "jsonl" else (",".join(NAMES) + "\r\n").encode()
    assert path.read_bytes() == expected


# --- CSV ------------------------------------------------------------------------------------------
@pytest.mark.proves("E3")
def test_no_cell_of_a_table_is_taken_for_a_formula(hostile: ExportWorld) -> None:
    header, *rows = _table(hostile.export("csv")[1])
    assert header == list(NAMES)
    assert len(rows) == 1 + len(HOSTILE)
    numbers = {header.index(each.name) for each in COLUMNS if each.kind == "number"}
    for row in rows:
        assert len(row) == len(header)
        for place, cell in enumerate(row):
            assert not has_invisible(cell)
            if place not in numbers:
                assert cell.lstrip()[:1] not in RISKY or not cell


def test_a_table_can_be_read_back_with_nothing_lost(hostile: ExportWorld) -> None:
    header, *rows = _table(hostile.export("csv")[1])
    for row, text in zip(rows, texts_of(hostile.tenant.pk), strict=True):
        record: dict[str, Any] = strict_json.loads_object(text)
        cells = dict(zip(header, row, strict=True))
        assert cells["decision_id"] == record["decision_id"]
        assert cells["record_hash"] == record["record_hash"]
        assert cells["created_at"] == record["created_at"]
        assert cells["session_id"] == guarded(record["session_id"] or "")


def test_numbers_flags_and_times_are_plain(hostile: ExportWorld) -> None:
    header, first, *_ = _table(hostile.export("csv")[1])
    cells = dict(zip(header, first, strict=True))
    assert cells["cost_cents"] == "4200"
    assert cells["policy_allowed"] == "true"
    assert cells["created_at"] == "2026-11-16T12:00:00.123Z"
    assert cells["approvers"] == "user_fin1"
    assert cells["rules"] == "rule_a"


def test_lines_end_as_rfc_4180_has_it(hostile: ExportWorld) -> None:
    _, path = hostile.export("csv", {"user": "user_1"})
    content = path.read_bytes()
    assert content.count(b"\r\n") == content.count(b"\n") == 2
    assert not content.startswith(b"\xef\xbb\xbf")


def test_columns_are_chosen_and_ordered_by_who_asks(hostile: ExportWorld) -> None:
    _, path = hostile.export("csv", columns=["status", "seq", "status"])
    assert _table(path)[0] == ["status", "seq"]


@pytest.mark.parametrize("text", HOSTILE)
def test_guarding_twice_is_guarding_once_for_the_reader(text: str) -> None:
    once = guarded(text)
    assert guarded(once) == once
    assert once.lstrip()[:1] not in RISKY


# --- Excel ----------------------------------------------------------------------------------------
@pytest.mark.proves("E3")
def test_a_workbook_has_typed_cells_and_no_formula(hostile: ExportWorld) -> None:
    job, path = hostile.export("xlsx")
    book = openpyxl.load_workbook(path)
    rows = list(book["Records"].iter_rows())
    assert [cell.value for cell in rows[0]] == [column.title for column in COLUMNS]
    assert len(rows) == 1 + job.rows
    kinds = {cell.data_type for row in rows for cell in row}
    assert "f" not in kinds
    assert kinds == {"s", "n", "d", "b"}
    first = dict(zip(NAMES, (cell.value for cell in rows[1]), strict=True))
    assert first["cost_cents"] == 4200
    assert first["created_at"] == datetime(2026, 11, 16, 12, 0, 0, 123000)
    assert first["policy_allowed"] is True


def test_what_could_be_carried_out_is_marked_as_text(hostile: ExportWorld) -> None:
    _, path = hostile.export("xlsx")
    sheet = openpyxl.load_workbook(path)["Records"]
    place = NAMES.index("session_id") + 1
    marked = [
        (str(row[place - 1].value), row[place - 1].quotePrefix)
        for row in sheet.iter_rows(min_row=3)
    ]
    assert all(is_marked for text, is_marked in marked if text[:1] in RISKY)
    assert not any(has_invisible(text) for text, _ in marked)
    assert any("characters; the whole stands" in text for text, _ in marked)


def test_a_workbook_says_what_it_is_about(hostile: ExportWorld) -> None:
    _, path = hostile.export("xlsx", {"user": "nobody"}, title="=1+1")
    about = dict(openpyxl.load_workbook(path)["About"].iter_rows(values_only=True))
    assert about["Title"] == "=1+1"
    assert about["On behalf of"] == "nobody"
    assert about["Records"] == "None: no record matches the filter."
    assert list(path.parent.glob("*.sheets")) == []


def test_a_full_sheet_is_followed_by_another(
    hostile: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "ROWS_A_SHEET", 10)
    _, path = hostile.export("xlsx", columns=["decision_id"])
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["About", "Records", "Records 2"]
    assert [sheet.max_row for sheet in book.worksheets[1:]] == [11, 8]


def test_numbers_beyond_what_a_double_holds_are_text() -> None:
    assert xlsx._is_exact(2**53 - 1)
    assert not xlsx._is_exact(2**53 + 1)
    assert not xlsx._is_exact("7")


# --- PDF ------------------------------------------------------------------------------------------
def _pages(path: Path) -> list[str]:
    return [page.extract_text() for page in pypdf.PdfReader(path).pages]


@pytest.mark.proves("E3")
def test_a_report_has_cover_totals_table_numbers_and_the_hash_of_its_records(
    hostile: ExportWorld,
) -> None:
    _, lines = hostile.export("jsonl")
    job, path = hostile.export("pdf", {"from": "2026-01-01"}, title="Quarter three")
    first, *_, last = _pages(path)
    assert "Quarter three" in first
    assert hostile.tenant.name in first
    assert "from 2026-01-01T00:00:00.000Z on" in first
    assert hostile.auditor.username in first
    assert f"sha256:{sha256_of(lines)}" in first.replace("\n", "")
    assert f"Page {len(_pages(path))} of {len(_pages(path))}" in last
    assert f"Page 1 of {len(_pages(path))}" in first
    assert str(job.rows) in first


def test_what_the_font_can_not_draw_is_spelt_out(hostile: ExportWorld) -> None:
    text = "".join(_pages(hostile.export("pdf")[1])).replace("\n", "")
    for spelled in ("<U+202E>", "<U+200B>", "<U+05E9>", "<U+1F600>", "<script>"):
        assert spelled in text
    assert not has_invisible(text.replace("\x00", ""))


def test_a_report_of_nothing_says_so(hostile: ExportWorld) -> None:
    (page,) = _pages(hostile.export("pdf", {"user": "nobody"})[1])
    assert "No record matches" in page
    assert "Page 1 of 1" in page


def test_a_long_report_says_what_it_leaves_to_the_other_forms(
    hostile: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "SHOWN", 5)
    cover, *others = _pages(hostile.export("pdf")[1])
    assert f"the first 5 of {1 + len(HOSTILE)} records, oldest first" in " ".join(cover.split())
    text = " ".join(" ".join(others).split())
    assert f"The first 5 of {1 + len(HOSTILE)} records" in text
