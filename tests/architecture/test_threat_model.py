"""The threat model names tests that exist, and no risk of its lists without one."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "security" / "threat-model.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
RISK = re.compile(r"^\| \*\*((?:MCP|ASI)\d\d)\*\* (.+)$", re.MULTILINE)
RISKS = [f"{kind}{number:02d}" for kind in ("MCP", "ASI") for number in range(1, 11)]


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


def _tests_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.proves("E7")
def test_every_test_that_the_threat_model_names_exists() -> None:
    named = NAMED.findall(_page())
    assert len(named) > 50
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file() or name not in _tests_in(path)
    ]
    assert missing == []


@pytest.mark.proves("E7")
def test_every_risk_of_both_lists_is_answered_by_tests() -> None:
    rows = dict(RISK.findall(_page()))
    assert list(rows) == RISKS
    assert [risk for risk, row in rows.items() if not NAMED.search(row)] == []
