"""`manage.py sign`: files are signed and checked offline, versions show their envelope."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.registry.house import House
from tests.registry.manifests import orders


def run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("sign", *arguments, stdout=out, stderr=StringIO())
    except CommandError as refusal:
        return refusal.returncode, str(refusal)
    return 0, out.getvalue()


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(orders(), indent=4))
    return str(path)


def read(text: str) -> Any:
    return json.JSONDecoder().decode(text)


@pytest.mark.proves("B2")
def test_a_signed_file_verifies_and_a_changed_one_does_not(manifest: str, tmp_path: Path) -> None:
    envelope = str(tmp_path / "envelope.json")
    assert run(manifest, "--out", envelope)[0] == 0
    code, said = run(manifest, "--verify", envelope)
    assert (code, said.startswith("Good signature over sha256:")) == (0, True)
    Path(manifest).write_text(json.dumps(orders(name="Changed")))
    code, said = run(manifest, "--verify", envelope)
    assert code == 1
    assert "signature.invalid" in said


def test_the_spelling_of_the_file_does_not_matter_only_its_content(
    manifest: str, tmp_path: Path
) -> None:
    envelope = tmp_path / "envelope.json"
    envelope.write_text(run(manifest)[1])
    Path(manifest).write_text(json.dumps(orders(), sort_keys=True))
    assert run(manifest, "--verify", str(envelope))[0] == 0


def test_a_signature_for_one_tenant_is_none_for_another(manifest: str, tmp_path: Path) -> None:
    envelope = str(tmp_path / "envelope.json")
    run(manifest, "--tenant", "tenant_a", "--out", envelope)
    assert run(manifest, "--tenant", "tenant_a", "--verify", envelope)[0] == 0
    assert run(manifest, "--tenant", "tenant_b", "--verify", envelope)[0] == 1
    assert run(manifest, "--verify", envelope)[0] == 1


@pytest.mark.proves("B2")
def test_a_published_version_shows_its_envelope(house: House, tmp_path: Path) -> None:
    version = house.published(orders())
    code, text = run(version.version_id)
    assert (code, read(text)) == (0, version.envelope)
    envelope = tmp_path / "envelope.json"
    envelope.write_text(text)
    assert run(version.version_id, "--verify", str(envelope))[0] == 0
    other = house.published(orders())
    assert run(other.version_id, "--verify", str(envelope))[0] == 1


def test_an_unsigned_version_is_refused(house: House) -> None:
    code, said = run(house.approved(orders()).version_id)
    assert code == 1
    assert "carries no signature" in said


@pytest.mark.django_db
@pytest.mark.parametrize("target", ["adv_01jq3v8xkz7m4n2p5r6s8t9w0y", "absent.json"])
def test_what_is_not_there_is_exit_two(target: str) -> None:
    assert run(target)[0] == 2


def test_what_is_no_manifest_or_no_envelope_is_exit_two(manifest: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert run(str(broken))[0] == 2
    assert run(manifest, "--verify", str(broken))[0] == 2
    assert run(manifest, "--out", str(tmp_path / "no" / "folder"))[0] == 2
