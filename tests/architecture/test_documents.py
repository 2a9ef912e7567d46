"""Papers that lead somewhere: every relative link in the documentation has a target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, named

LINK = re.compile(
    r"\]\((?!https?:|mailto:)([^)#\s]+)(?:#[^)]*)?\)|(?:src|href)=\"(?!https?:|#)([^\"]+)\""
)


def _documents() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("document", list(_documents()), ids=named)
def test_every_link_leads_to_a_file(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [first or second for first, second in LINK.findall(text)]
    assert [t for t in targets if not (document.parent / t).exists()] == []


def test_the_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in readme
    assert "make test" in readme


def test_every_path_on_the_architecture_page_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([a-z_]+/[\w/]+(?:\.py)?)`", page)
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []
