"""The command: exit codes, formats, and that it needs nothing but the file."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from contextos.core import strict_json
from registry.readiness import all_rules
from registry.validation import compile_schema
from tests.registry.readiness.manifests import EXAMPLES, example

pytestmark = pytest.mark.proves("B4")

ROOT = EXAMPLES.parents[1]
PASSING = EXAMPLES / "payments.json"
FAILING = EXAMPLES / "broken.json"

# The parts of SARIF 2.1.0 that a viewer relies on.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"required": ["driver"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"required": ["text"]},
                                "locations": {"type": "array", "minItems": 1},
                            },
                        },
                    },
                },
            },
        },
    },
}


def run(path: Path | str, chosen: str = "json", code: int = 0) -> str:
    out = io.StringIO()
    try:
        call_command("lint_manifest", str(path), format=chosen, stdout=out)
        left_with: Any = 0
    except SystemExit as ended:
        left_with = ended.code
    assert left_with == code
    return out.getvalue()


def parsed(text: str | bytes) -> Any:
    return strict_json.loads(text)


def refused(path: Path | str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        call_command("lint_manifest", str(path), stdout=io.StringIO())
    assert caught.value.returncode == 2
    return caught.value


def test_a_good_manifest_passes() -> None:
    assert parsed(run(PASSING)) == {"verdict": "pass", "findings": []}


def test_a_manifest_that_is_blocked_fails_and_says_why() -> None:
    report = parsed(run(FAILING, code=1))
    assert report["verdict"] == "fail"
    assert "auth.scope.wildcard" in {finding["rule"] for finding in report["findings"]}


def test_what_is_not_json_is_refused_at_its_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text('{"name": "a",\n "name": "b"}')
    assert "json.duplicate_key: line 2, column 2: An object repeats a key." in str(refused(path))
    path.write_text('{"name": "a"\n "owner_role": "b"}')
    told = str(refused(path))
    assert "json.malformed: line 2, column 2: Expecting ',' delimiter. Look at that place" in told


def test_warnings_alone_do_not_fail(tmp_path: Path) -> None:
    document = example("payments")
    del document["rollback_notes"]
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(document))
    report = parsed(run(path))
    assert report["verdict"] == "pass"
    assert [finding["rule"] for finding in report["findings"]] == ["release.notes_missing"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"not json", "json.malformed"),
        (b'{"a": 1, "a": 2}', "json.duplicate_key"),
        (b"[" * 300 + b"]" * 300, "json.too_deep"),
        (b"[]", "json.not_an_object"),
        (b'{"a": "' + b"x" * (6 * 1024 * 1024) + b'"}', "json.too_large"),
        (b"\xff", "json.malformed"),
    ],
)
def test_what_is_no_manifest_ends_with_two(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(data)
    assert told in str(refused(path))


def test_a_file_that_is_not_there_or_no_file_ends_with_two(tmp_path: Path) -> None:
    assert "can't be read" in str(refused(tmp_path / "absent.json"))
    assert "can't be read" in str(refused(tmp_path))


def test_text_names_the_line_the_place_and_the_remedy() -> None:
    text = run(FAILING, "text", code=1)
    assert text.startswith(f"{FAILING}: fail (")
    line = next(n for n, t in enumerate(FAILING.read_text().splitlines(), 1) if "tickets.*" in t)
    assert f"BLOCK auth.scope.wildcard  line {line}, /auth/initial_scopes/0" in text
    assert "Fix: " in text
    assert "\x1b[" not in text


def test_text_is_coloured_only_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    with pytest.raises(SystemExit):
        call_command("lint_manifest", str(FAILING), stdout=out, force_color=True)
    assert "\x1b[" in out.getvalue()


def test_sarif_holds_every_rule_and_each_finding_at_its_line() -> None:
    sarif = parsed(run(FAILING, "sarif", code=1))
    assert compile_schema(SARIF).errors(sarif) == ()
    (only,) = sarif["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in all_rules()]
    lines = FAILING.read_text().splitlines()
    for result in only["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert 1 <= region["startLine"] <= len(lines)
    (wildcard,) = [r for r in only["results"] if r["ruleId"] == "auth.scope.wildcard"]
    line = wildcard["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert "tickets.*" in lines[line - 1]


def test_it_asks_nothing_of_the_database() -> None:
    # pytest-django refuses every query in a test that does not ask for the database; whether a
    # connection is open says nothing, an earlier test may have left one.
    assert run(PASSING)


def _manage(*arguments: str, data: bytes, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    environment = {
        "PATH": os.environ["PATH"],
        "CONTEXTOS_DATA_DIR": str(folder),
        "DATABASE_URL": "postgresql://nobody:nothing@127.0.0.1:9/none",
    }
    return subprocess.run(
        [sys.executable, "manage.py", "lint_manifest", *arguments],
        input=data,
        capture_output=True,
        cwd=ROOT,
        env=environment,
        check=False,
    )


@pytest.mark.live
@pytest.mark.parametrize(
    ("data", "code"),
    [(PASSING.read_bytes(), 0), (FAILING.read_bytes(), 1), (b'{"a":1,"a":2}', 2)],
)
def test_from_the_shell_it_reads_standard_input_and_leaves_with_its_code(
    tmp_path: Path, data: bytes, code: int
) -> None:
    done = _manage("-", data=data, folder=tmp_path)
    assert done.returncode == code, done.stderr.decode()
    if code < 2:
        assert parsed(done.stdout)["verdict"] == ("pass", "fail")[code]
    else:
        assert done.stdout == b""
        assert b"json.duplicate_key" in done.stderr
