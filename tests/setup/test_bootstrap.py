"""Setting up: what counts as installed, and what an unusable machine is told."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, working on a folder of its own."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "requirements.lock").write_text("django==5.2\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / ".lockhash")
    return module


def test_an_unfinished_install_does_not_count(bootstrap: ModuleType) -> None:
    (bootstrap.VENV / "bin").mkdir(parents=True)
    assert not bootstrap.up_to_date(bootstrap.fingerprint())


def test_a_stamp_with_a_broken_interpreter_does_not_count(bootstrap: ModuleType) -> None:
    (bootstrap.VENV / "bin").mkdir(parents=True)
    (bootstrap.VENV / "bin" / "python").symlink_to("/nowhere/python")
    bootstrap.STAMP.write_text(bootstrap.fingerprint())
    assert not bootstrap.up_to_date(bootstrap.fingerprint())


def test_a_changed_lock_calls_for_a_new_install(bootstrap: ModuleType) -> None:
    before = bootstrap.fingerprint()
    bootstrap.LOCK.write_text("django==5.2.1\n")
    assert bootstrap.fingerprint() != before


def test_an_old_python_is_told_what_to_do(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setenv("PATH", "/nowhere")
    assert bootstrap.main() == 2
    said = capsys.readouterr().err
    assert "needs Python 3.11" in said
    assert "this is 3.9" in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told_so(
    bootstrap: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.ROOT.chmod(0o555)
    try:
        assert bootstrap.main() == 2
    finally:
        bootstrap.ROOT.chmod(0o755)
    assert "read-only" in capsys.readouterr().err


def test_make_help_lists_every_public_command() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for command in ("setup", "run", "test", "lint", "fmt", "e2e"):
        assert f"make {command} " in shown.stdout
