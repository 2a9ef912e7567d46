"""What a bundle's checker takes nobody's word for: which key signed, and where a period ends."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.export.files import sha256_of
from audit.export.offline import verify as offline
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.clock import format_time
from contextos.core.dsse import sign_envelope
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store, signer_for
from tests.audit.bundles import make_bundle_world, seal, unpacked, verdict, with_new_sums
from tests.audit.export_world import MOMENT, ExportWorld
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"
    settings.KEYS_DIR = tmp_path / "keys"


@pytest.fixture
def world() -> ExportWorld:
    return ready(make_bundle_world)


def _kid(purpose: KeyPurpose) -> str:
    return signer_for(purpose).verification_key.kid


def _minute(number: int) -> str:
    return format_time(MOMENT + timedelta(minutes=number))


def _resigned(folder: Path, change: Callable[[Any], None] = lambda claim: None) -> None:
    """What somebody with the export key can do."""
    envelope: Any = strict_json.loads((folder / "signature.dsse.json").read_bytes())
    claim: Any = strict_json.loads(base64.b64decode(envelope["payload"]))
    change(claim)
    for member in claim["members"]:
        member["sha256"] = sha256_of(folder / member["name"])
    signers = [signer_for(KeyPurpose.EXPORTS)]
    made = sign_envelope(canonicalise(claim), payload_type=offline.PAYLOAD_TYPE, signers=signers)
    (folder / "signature.dsse.json").write_bytes(canonicalise(made))
    with_new_sums(folder)


def _says(lines: list[str], part: str) -> bool:
    return any(part in line for line in lines)


# --- keys -----------------------------------------------------------------------------------------
@pytest.mark.proves("E2")
def test_after_a_rotation_the_key_of_the_newest_checkpoint_is_compared(
    world: ExportWorld, tmp_path: Path
) -> None:
    before = _kid(KeyPurpose.LOG)
    key_store().rotate(KeyPurpose.LOG)
    world.record(created_at=MOMENT + timedelta(hours=1), approvals=[])
    seal(world)
    folder = unpacked(world.export("bundle")[1], tmp_path / "rotated")
    exports, now = _kid(KeyPurpose.EXPORTS), _kid(KeyPurpose.LOG)
    report = verdict(folder, exports, now)
    assert report.wrong == []
    assert _says(report.proved, "the log only grew"), "the older checkpoint is there"
    assert _says(report.proved, "whose fingerprints you gave")
    assert _says(verdict(folder, exports, before).wrong, "signed nothing here")


@pytest.mark.parametrize("use", ["log", "exports"])
def test_a_revoked_signer_is_refused_offline(world: ExportWorld, tmp_path: Path, use: str) -> None:
    folder = unpacked(world.export("bundle")[1], tmp_path / "unpacked")
    keys: Any = strict_json.loads((folder / "keys.json").read_bytes())
    assert [key["state"] for key in keys[use]] == ["active"]
    keys[use][0]["state"] = "revoked"
    (folder / "keys.json").write_bytes(canonicalise(keys))
    _resigned(folder)
    assert _says(verdict(folder).wrong, "revoked")


@pytest.mark.parametrize("purpose", [KeyPurpose.LOG, KeyPurpose.EXPORTS])
def test_the_command_refuses_what_a_key_signed_that_was_revoked_since(
    world: ExportWorld, tmp_path: Path, purpose: KeyPurpose
) -> None:
    folder = unpacked(world.export("bundle")[1], tmp_path / "unpacked")
    signed_with = _kid(purpose)
    key_store().rotate(purpose)
    call_command("verify_export", str(folder))
    key_store().revoke(purpose, signed_with)
    with pytest.raises(CommandError):
        call_command("verify_export", str(folder))


def test_a_bundle_waits_until_the_log_is_signed_with_a_key_that_counts(
    world: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stolen = _kid(KeyPurpose.LOG)
    key_store().rotate(KeyPurpose.LOG)
    key_store().revoke(KeyPurpose.LOG, stolen)
    monkeypatch.setattr("time.sleep", lambda seconds: seal(world))
    folder = unpacked(world.export("bundle")[1], tmp_path / "anew")
    report = verdict(folder, _kid(KeyPurpose.EXPORTS), _kid(KeyPurpose.LOG))
    assert report.wrong == []
    keys: Any = strict_json.loads((folder / "keys.json").read_bytes())
    assert [key["state"] for key in keys["log"]] == ["revoked", "active"]


# --- periods --------------------------------------------------------------------------------------
@pytest.fixture
def period(world: ExportWorld, tmp_path: Path) -> Path:
    """Minutes 2 and 3 of six; records stand before and behind."""
    job, path = world.export("bundle", {"from": _minute(2), "to": _minute(4)})
    assert job.rows == 2
    return unpacked(path, tmp_path / "period")


def test_a_whole_period_is_proved_up_to_leaves_outside_it(period: Path) -> None:
    report = verdict(period)
    assert report.wrong == []
    said = f"nothing is left out from {_minute(2)} up to {_minute(4)}"
    assert _says(report.proved, said)
    assert not _says(report.open, "no record of the period stands")
    assert _says(report.open, "came into the log late")


@pytest.mark.proves("E2")
@pytest.mark.parametrize("wanted", [{"to": _minute(6)}, {"from": _minute(1)}])
def test_a_period_that_was_cut_short_is_found(period: Path, wanted: dict[str, str]) -> None:
    """Whoever asked for more gets what was asked for named, and fewer records than there are."""

    def claimed(claim: Any) -> None:
        claim["filter"].update(wanted)
        claim["complete"]["until"] = claim["filter"]["to"]

    _resigned(period, claimed)
    assert _says(verdict(period).wrong, "a decision record of the period is left out")


@pytest.mark.parametrize(
    ("name", "by", "said"), [("first", 1, "stands before"), ("end", -1, "stands behind")]
)
def test_an_edge_that_nothing_outside_the_period_marks_is_not_proved(
    period: Path, name: str, by: int, said: str
) -> None:
    def narrower(claim: Any) -> None:
        claim["complete"][name] += by

    _resigned(period, narrower)
    report = verdict(period)
    assert report.wrong == []
    assert _says(report.open, said)
    assert not _says(report.proved, "nothing is left out")


def test_a_span_that_leaves_its_own_records_outside_is_refused(period: Path) -> None:
    def elsewhere(claim: Any) -> None:
        claim["complete"].update(first=0, end=0)

    _resigned(period, elsewhere)
    assert _says(verdict(period).wrong, "outside the leaves")


def test_a_choice_can_not_be_passed_off_as_a_period(period: Path) -> None:
    _resigned(period, lambda claim: claim["filter"].update(user="somebody"))
    assert _says(verdict(period).wrong, "a choice of records")


def test_what_is_committed_while_a_bundle_is_written_ends_what_it_claims(
    world: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record(created_at=MOMENT + timedelta(hours=1), approvals=[])

    def late(seconds: float) -> None:
        world.record(created_at=MOMENT + timedelta(minutes=30), approvals=[])
        seal(world)

    monkeypatch.setattr("time.sleep", late)
    job, path = world.export("bundle")
    report = verdict(unpacked(path, tmp_path / "late"))
    assert (job.rows, report.wrong) == (7, [])
    assert _says(report.open, f"that records from {_minute(30)} on are all here")
