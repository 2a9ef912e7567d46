"""The reference pages say what the code does: every rule, and every line of the four checklists."""

import re
from pathlib import Path

import pytest

from registry.readiness import Severity, all_rules
from registry.readiness.reference import render_findings_reference
from tests.requirements import REQUIREMENTS

pytestmark = pytest.mark.proves("B4")

PAGES = Path(__file__).resolve().parents[3] / "docs" / "reference"
# Lines in each of the four checklists the adapter guides give.
EXPECTED = {"R": 16, "A": 9, "T": 7, "S": 10}
ROW = re.compile(r"^\| ([A-Z])(\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def _rows() -> list[tuple[str, int, str, str, str]]:
    text = (PAGES / "checklists.md").read_text(encoding="utf-8")
    return [(a, int(n), what, rules, controls) for a, n, what, rules, controls in ROW.findall(text)]


def _rules_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize(("letter", "count"), EXPECTED.items())
def test_every_line_of_a_checklist_is_mapped(letter: str, count: int) -> None:
    assert [number for a, number, *_ in _rows() if a == letter] == list(range(1, count + 1))


def test_every_line_names_rules_and_controls_that_exist() -> None:
    known_rules = {rule.id for rule in all_rules()}
    known_duties = {requirement.id for requirement in REQUIREMENTS}
    for letter, number, _, rules, controls in _rows():
        named = _rules_in(rules)
        assert set(named) <= known_rules, f"{letter}{number}"
        assert named or rules == "none", f"{letter}{number}"
        duties = [duty.strip() for duty in controls.split(",")]
        assert duties, f"{letter}{number}"
        assert set(duties) <= known_duties, f"{letter}{number}"


def test_every_rule_serves_some_line() -> None:
    used = {rule for *_, rules, _ in _rows() for rule in _rules_in(rules)}
    assert {rule.id for rule in all_rules()} - used == set()


def test_the_findings_page_is_in_step_with_the_rules() -> None:
    written = (PAGES / "findings.md").read_text(encoding="utf-8")
    assert written == render_findings_reference()


def test_the_findings_page_has_an_entry_for_every_rule() -> None:
    page = render_findings_reference()
    for rule in all_rules():
        assert f"\n### {rule.id}\n" in page
        assert page.count(f"[`{rule.id}`]") == 1
    assert [severity.value for severity in Severity] == ["block", "warn", "info"]
