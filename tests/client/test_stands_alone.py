"""The folder can be copied into another program and works there with nothing installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from vendored.our_client import Client, Unreachable
try:
    Client("http://127.0.0.1:9", "token").tool_manifest("run_1")
except Unreachable as fault:
    print("unreachable:", fault)
"""


def test_a_copy_below_another_name_runs_on_the_bare_standard_library(tmp_path: Path) -> None:
    copy = tmp_path / "vendored" / "our_client"
    shutil.copytree(ROOT / "contextos_client", copy)
    # -I and -S: no environment, no site-packages, no current folder.
    outcome = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert outcome.stdout.startswith("unreachable: http://127.0.0.1:9"), outcome.stderr


def test_the_folder_says_that_it_is_typed() -> None:
    assert (ROOT / "contextos_client" / "py.typed").is_file()
