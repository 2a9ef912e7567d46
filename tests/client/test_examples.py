"""The examples and the quick start, run as a new user runs them: against the real demo."""

from __future__ import annotations

import ast
import importlib
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.demo.running import Demo, start_demo

pytestmark = pytest.mark.live

SHARED = ("ready", "person", "approver", "manifest_change")
SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem not in SHARED)
STORY = ROOT / "examples" / "refund_story.py"
GUIDE = ROOT / "docs" / "guides" / "agent-developer"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    running = start_demo(tmp_path_factory.mktemp("demo") / ".demo")
    yield running
    if running.process.poll() is None:
        running.stop()


def _run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # -S: without site-packages, as on a machine that has nothing but Python.
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.proves("C2", "C9", "C13", "C19")
@pytest.mark.parametrize(
    "script", [path for path in SCRIPTS if path != STORY], ids=lambda path: path.stem
)
def test_each_example_runs_and_meets_no_surprise(script: Path, demo: Demo, tmp_path: Path) -> None:
    ready = str(demo.data_dir / "ready.json")
    outcome = _run(str(script), "--ready-file", ready, cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout
    assert not outcome.stderr


@pytest.mark.slow
@pytest.mark.proves("C2", "C5", "D1", "D2")
def test_of_four_refunds_only_the_approved_one_is_paid_and_only_once(
    demo: Demo, tmp_path: Path
) -> None:
    ready = str(demo.data_dir / "ready.json")
    outcome = _run(str(STORY), "--ready-file", ready, cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    for code in ("approval.rejected", "approval.expired", "approval.voided"):
        assert f"({code})" in outcome.stdout
    with closing(sqlite3.connect(demo.data_dir / "payments-ledger.sqlite3")) as ledger:
        assert ledger.execute("SELECT amount_inr FROM refund").fetchall() == [(250.0,)]


@pytest.mark.slow
def test_the_quick_start_does_what_the_guide_says(demo: Demo, tmp_path: Path) -> None:
    text = (GUIDE / "README.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", text, flags=re.S)[0]
    script = tmp_path / "first_read.py"
    script.write_text(program)
    outcome = _run(str(script), cwd=demo.data_dir.parent, PYTHONPATH=str(ROOT))
    assert outcome.returncode == 0, outcome.stderr
    answered = re.search(r"^ok (\{.*\})$", outcome.stdout, flags=re.M)
    assert answered is not None, outcome.stdout
    assert ast.literal_eval(answered[1])["order_id"] == "ord_1001"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_fits_on_a_page_and_says_what_is_missing(script: Path, tmp_path: Path) -> None:
    assert len(script.read_text(encoding="utf-8").splitlines()) < 80
    outcome = _run(str(script), cwd=tmp_path)
    assert outcome.returncode == 2
    assert "make run" in outcome.stderr


def test_the_data_of_a_demo_is_found_in_or_beside_the_folder_of_its_ready_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    ready = importlib.import_module("ready")
    (tmp_path / "data" / "keys").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    assert ready.data_dir_of(tmp_path / "ready.json") == tmp_path / "data"
    assert ready.data_dir_of(tmp_path / "data" / "ready.json") == tmp_path / "data"
    (tmp_path / "other" / "keys").mkdir(parents=True)
    assert ready.data_dir_of(tmp_path / "ready.json") == tmp_path


def test_an_example_says_when_nobody_answers(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    ready.write_text(
        '{"url": "http://127.0.0.1:9", "mcp_url": null, "tenant_id": "t",'
        ' "agent_token": "a", "user_token": "u"}'
    )
    script = ROOT / "examples" / "open_a_run.py"
    outcome = _run(str(script), "--ready-file", str(ready), cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stderr.startswith("Unreachable: http://127.0.0.1:9")
