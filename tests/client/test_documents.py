"""The guide's tables say what the client does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import contextos_client
from contextos_client import Client
from tests.architecture.source import ROOT
from tests.client.test_status_table import BEYOND_THE_CONTRACT, RAISED, RETURNED

GUIDE = ROOT / "docs" / "guides" / "agent-developer"


def _rows(page: str, heading: str) -> Iterator[list[str]]:
    text = (GUIDE / page).read_text(encoding="utf-8")
    part = text.partition(f"{heading}\n")[2].split("\n## ")[0]
    for line in part.splitlines():
        if line.startswith("|") and not re.match(r"\|(---|\|)", line):
            yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def test_the_guide_lists_every_answer_that_is_returned() -> None:
    listed = {tuple(row[:3]) for row in _rows("answers.md", "`result.status`")}
    known = {(str(row.http), row.status, row.kind) for row in RETURNED}
    assert listed - {("HTTP", "status", "error.kind")} == known


def test_the_guide_lists_every_answer_that_is_raised() -> None:
    rows = _rows("answers.md", "something about")
    # One line of the guide may speak of several statuses; the contract's table has the first.
    listed = {(row[0].partition(",")[0], *row[1:3]) for row in rows}
    known = {
        (str(row.http), row.becomes.__name__ if row.becomes else "", row.kind)
        for row in RAISED
        if row not in BEYOND_THE_CONTRACT
    }
    assert listed - {("HTTP", "exception", "error.kind"), ("none", "Unreachable", "")} == known


def test_the_guide_lists_every_method() -> None:
    listed = {row[0].partition("(")[0] for row in _rows("client.md", "# The Python client")}
    public = {name for name in vars(Client) if not name.startswith("_")}
    assert listed - {"method"} == public - {"close"}


def test_every_name_the_guide_imports_exists() -> None:
    imported = r"from contextos_client import (?:\(([^)]*)\)|(.*))"
    for page in GUIDE.glob("*.md"):
        for several, one_line in re.findall(imported, page.read_text()):
            names = [name.strip() for name in (several or one_line).split(",")]
            assert [n for n in names if n and not hasattr(contextos_client, n)] == []
