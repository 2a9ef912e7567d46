"""The reference pages say what the code says."""

from __future__ import annotations

from pathlib import Path

from contextos.core.errors import catalogue
from contextos.env import VARIABLES
from tests.ops.environment import ROOT, bare_environment, run

REFERENCE = ROOT / "docs" / "reference"


def test_the_reference_pages_are_up_to_date(tmp_path: Path) -> None:
    environment = bare_environment() | {"CONTEXTOS_DATA_DIR": str(tmp_path)}
    outcome = run(["scripts/generate_docs.py", "--check"], environment)
    assert outcome.returncode == 0, outcome.stderr


def test_every_code_has_its_own_anchor() -> None:
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    for spec in catalogue():
        if spec.code.startswith("test"):
            continue  # declared by a test beside us
        assert page.count(f'<a id="{spec.code}"></a>') == 1, spec.code
        assert spec.remediation in page


def test_every_variable_is_in_the_table() -> None:
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    for variable in VARIABLES:
        assert page.count(f"| `{variable.name}` |") == 1


def test_no_page_names_the_machine_it_was_made_on() -> None:
    for page in REFERENCE.glob("*.md"):
        assert str(ROOT) not in page.read_text(encoding="utf-8")
