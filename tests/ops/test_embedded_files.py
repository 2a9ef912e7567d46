"""The embedded database is for its owner's eyes: a session key read from it is a sign-in."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from contextos.settings.local_secrets import keep_private
from tests.ops.environment import bare_environment, run


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def migrated(folder: Path) -> Path:
    environment = bare_environment() | {"CONTEXTOS_DATA_DIR": str(folder)}
    outcome = run(["manage.py", "migrate", "contenttypes", "--verbosity", "0"], environment)
    assert outcome.returncode == 0, outcome.stderr
    return folder / "contextos.sqlite3"


@pytest.mark.live
def test_a_new_database_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    database = migrated(tmp_path)
    assert database.stat().st_size > 0
    assert mode_of(database) == 0o600


def test_an_older_database_is_closed_to_others(tmp_path: Path) -> None:
    database = tmp_path / "contextos.sqlite3"
    database.touch()
    database.chmod(0o644)
    keep_private(str(database))
    assert mode_of(database) == 0o600


@pytest.mark.parametrize("name", [":memory:", "file:shared?mode=memory", "/no/such/folder/db"])
def test_what_is_no_file_of_ours_is_left_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keep_private(name)
    assert not list(tmp_path.iterdir())
