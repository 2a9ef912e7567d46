"""The guide's twenty lines, run as a sceptical reader would run them: on three files."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from audit.models import DecisionRow
from audit.sealer import Sealer
from contextos.core.signing import Ed25519Signer
from tests.audit.logs import write_records
from tests.factories import make_member, make_tenant, make_user_token

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]
GUIDE = Path(__file__).parents[2] / "docs/guides/auditor/proofs.md"
MOST_LINES = 22  # "twenty lines", imports and all


@pytest.fixture
def files(settings: Any, tmp_path: Path) -> Path:
    """What the guide says to fetch, fetched from the API."""
    settings.CHECKPOINTS_DIR, settings.KEYS_DIR = tmp_path / "outside", tmp_path / "keys"
    tenant = make_tenant()
    token = make_user_token(make_member(tenant, "auditor"), tenant).token
    write_records(7, tenant.pk)
    Sealer().round()

    def get(path: str) -> Any:
        answer = Client().get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {token}"})
        return json.JSONDecoder().decode(answer.content.decode())

    decision_id = DecisionRow.objects.order_by("record_id")[4].decision_id
    (row,) = get(f"decision-records/{decision_id}")["rows"]
    (proof,) = get(f"decision-records/{decision_id}/proof")["results"]
    key = next(each for each in get("log/keys")["keys"] if each["state"] == "active")
    for name, content in (("record", row["record"]), ("proof", proof), ("key", key)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "check.py").write_text(snippet())
    return tmp_path


def snippet() -> str:
    """The guide's program, letter for letter."""
    (found,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    assert len(found.strip().splitlines()) <= MOST_LINES
    return str(found)


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    """In a folder of its own, without our code on the path."""
    return subprocess.run(
        [sys.executable, "-I", "check.py", "record.json", "proof.json", "key.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def change(folder: Path, name: str, **members: Any) -> None:
    path = folder / f"{name}.json"
    content = json.JSONDecoder().decode(path.read_text())
    path.write_text(json.dumps({**content, **members}))


def read(folder: Path, name: str) -> dict[str, Any]:
    return dict(json.JSONDecoder().decode((folder / f"{name}.json").read_text()))


def test_a_record_as_recorded_is_believed(files: Path) -> None:
    done = check(files)
    assert done.returncode == 0, done.stderr
    assert "is one of" in done.stdout


def test_a_record_changed_by_one_word_is_not(files: Path) -> None:
    change(files, "record", outcome="denied")
    assert "is not in the log that was signed" in check(files).stderr


def test_another_place_or_other_hashes_are_not(files: Path) -> None:
    proof = read(files, "proof")
    change(files, "proof", log_index=proof["log_index"] + 1)
    assert check(files).returncode != 0
    turned = [base64.b64encode(b"x" * 32).decode(), *proof["hashes"][1:]]
    change(files, "proof", log_index=proof["log_index"], hashes=turned)
    assert check(files).returncode != 0


def test_a_checkpoint_that_the_key_did_not_sign_is_not(files: Path) -> None:
    other = Ed25519Signer.generate().verification_key.jwk()["x"]
    change(files, "key", x=other)
    assert "InvalidSignature" in check(files).stderr
