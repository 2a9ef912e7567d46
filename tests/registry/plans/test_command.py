"""`manage.py verify_plan`: exit codes, JSON on standard output, no database."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from registry.documents import schema_problems
from tests.conftest import ROOT
from tests.registry.plans.world import lookup, pack, plan, refund

EXAMPLES = sorted((ROOT / "examples/plans").glob("*.json"))


def _run(path: Path) -> tuple[int, dict[str, Any]]:
    out = io.StringIO()
    try:
        call_command("verify_plan", str(path), stdout=out)
    except SystemExit as stopped:
        return int(str(stopped.code)), json.loads(out.getvalue())  # noqa: TID251
    return 0, json.loads(out.getvalue())  # noqa: TID251


def _file(folder: Path, content: Any) -> Path:
    path = folder / "plan.json"
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(raw)
    return path


@pytest.mark.proves("C19")
@pytest.mark.parametrize(
    ("document", "code", "verdict"),
    [
        (plan(lookup()), 0, "ok"),
        (plan(refund(idempotency_key="bad")), 1, "replan"),
        (plan(lookup(capability_id="no.such")), 1, "reject"),
    ],
)
def test_the_exit_code_follows_the_verdict(
    tmp_path: Path, document: dict[str, Any], code: int, verdict: str
) -> None:
    exit_code, answer = _run(_file(tmp_path, {"plan": document, "pack": pack()}))
    assert (exit_code, answer["verdict"]) == (code, verdict)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"plan": {}}',
        b'{"plan": {"steps": []}}',
        b'{"plan": {"steps": []}, "pack": {}, "pack": {}}',
        b'{"plan": {"steps": [NaN]}, "pack": {}}',
        b'\xef\xbb\xbf{"plan": {"steps": []}, "pack": {}}',
        b'{"plan": {"steps": []}, "pack": {}} trailing',
        b'{"plan": {"steps": []}, "pack": {"pack_id": "\\u0000"}}',
        b'{"plan": {"steps": []}, "pack": {"pack_id": "\\ud800"}}',
        b'{"plan": {"steps": []}, "pack": {"pack_id": "\xff"}}',
        b'{"plan": ' + b"[" * 100 + b"]" * 100 + b', "pack": {}}',
        b'{"plan": {"steps": [1]}, "pack": {}}',
    ],
)
def test_what_is_not_strict_json_or_no_plan_exits_with_2(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("verify_plan", str(_file(tmp_path, content)))
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_exits_with_2(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(CommandError) as refused:
            call_command("verify_plan", str(path))
        assert refused.value.returncode == 2


@pytest.mark.live
def test_from_the_command_line_it_needs_no_database(tmp_path: Path) -> None:
    path = _file(tmp_path, {"plan": plan(refund(idempotency_key=None)), "pack": pack()})
    outcome = subprocess.run(
        [sys.executable, "manage.py", "verify_plan", str(path)],
        cwd=ROOT,
        env={
            "PATH": "/usr/bin:/bin",
            "CONTEXTOS_DATA_DIR": str(tmp_path / "nowhere"),
            "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 1, outcome.stderr
    assert json.loads(outcome.stdout)["findings"][0]["code"] == "idempotency.missing"  # noqa: TID251


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_get_the_verdict_their_name_says(path: Path) -> None:
    document = json.loads(path.read_text())  # noqa: TID251
    exit_code, answer = _run(path)
    wanted = path.stem.split("-")[0]
    assert answer["verdict"] == wanted
    assert exit_code == (0 if wanted == "ok" else 1)
    assert schema_problems(document["plan"], "plan") == ()


def test_there_are_examples_of_every_verdict() -> None:
    assert {path.stem.split("-")[0] for path in EXAMPLES} == {"ok", "replan", "reject"}
