"""`manage.py import_manifest`: a file becomes a draft, and the exit code says how good it is."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from registry.models import AdapterVersion
from tests.registry.house import House
from tests.registry.manifests import blocked, orders, with_warning


def run(*arguments: str) -> tuple[int, list[str]]:
    """Exit code and lines of output."""
    out = StringIO()
    try:
        call_command("import_manifest", *arguments, stdout=out)
    except CommandError as refusal:
        return refusal.returncode, [str(refusal)]
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue().splitlines()
    return 0, out.getvalue().splitlines()


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def to_file(content: Any) -> str:
        path = tmp_path / "manifest.json"
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        path.write_bytes(data)
        return str(path)

    return to_file


def test_a_sound_file_becomes_a_draft_whose_id_stands_on_the_first_line(
    house: House, write: Any
) -> None:
    house.user("author")
    code, lines = run(write(with_warning()), "--tenant", house.tenant_id)
    version = AdapterVersion.objects.get()
    assert (code, lines[0]) == (0, version.version_id)
    assert version.author == house.user("author")
    assert "auth.none_in_production" in "\n".join(lines)


def test_blocking_findings_are_exit_one_and_the_draft_is_there_to_be_fixed(
    house: House, write: Any
) -> None:
    house.user("admin")
    code, lines = run(write(blocked()), "--tenant", house.tenant_id)
    assert (code, lines[0]) == (1, AdapterVersion.objects.get().version_id)
    assert any("capability.approval_mode.missing" in line for line in lines)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a":1,"a":2}', b"{}"])
def test_what_can_not_be_read_is_exit_two_and_stores_nothing(
    house: House, write: Any, content: bytes
) -> None:
    house.user("author")
    code, lines = run(write(content), "--tenant", house.tenant_id)
    assert code == 2
    assert "Nothing was imported." in lines[0]
    assert not AdapterVersion.objects.exists()


def test_a_missing_file_is_exit_two(house: House, tmp_path: Path) -> None:
    code, lines = run(str(tmp_path / "absent.json"), "--tenant", house.tenant_id)
    assert code == 2
    assert "can't be read" in lines[0]


def test_the_author_is_a_person_who_may_write_there(
    house: House, neighbour: House, write: Any
) -> None:
    path = write(orders())
    named = house.user("author").username
    for person, fault in (
        (house.user("auditor").username, "role.missing"),
        (neighbour.user("author").username, "role.missing"),
        ("nobody_at_all", "request.not_found"),
    ):
        code, lines = run(path, "--tenant", house.tenant_id, "--author", person)
        assert code == 2
        assert fault in lines[0]
    assert run(path, "--tenant", house.tenant_id, "--author", named)[0] == 0


def test_an_unknown_tenant_and_one_without_authors_are_told(db: None, write: Any) -> None:
    house, path = House(), write(orders())
    assert "There is no tenant" in run(path, "--tenant", "tenant_absent")[1][0]
    assert "may write manifests" in run(path, "--tenant", house.tenant_id)[1][0]


def test_markup_and_control_characters_of_the_file_stay_on_their_line(
    house: House, write: Any
) -> None:
    house.user("author")
    manifest = orders()
    manifest["capabilities"][0]["capability_id"] = "x\x1b[31m\nblock  forged"
    code, lines = run(write(manifest), "--tenant", house.tenant_id)
    assert code == 1
    assert not any("\x1b" in line for line in lines)
    assert not any(line.startswith("block  forged") for line in lines)
