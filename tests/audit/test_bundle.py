"""The signed bundle and its checker: what it proves, and that every change is found."""

from __future__ import annotations

import ast
import base64
import runpy
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.export import bundle_log
from audit.export.files import sha256_of
from audit.export.offline import verify as offline
from audit.export.proofs import ProofMaker
from audit.export.runner import run_export
from audit.log import inclusion_proof, latest_checkpoint
from audit.models import AuditEvent
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.clock import format_time, utcnow
from contextos.core.dsse import sign_envelope
from contextos.core.signing import Ed25519Signer, KeyPurpose
from contextos.identity.keyring import key_store, signer_for
from tests.audit.bundles import make_bundle_world, seal, unpacked, verdict, with_new_sums
from tests.audit.export_world import MOMENT, ExportWorld, make_export_world, texts_of
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db

MEMBERS = {
    "README.txt",
    "SHA256SUMS",
    "approvals.jsonl",
    "checkpoint.txt",
    "consistency.json",
    "ed25519.py",
    "keys.json",
    "others.jsonl",
    "proofs.jsonl",
    "records.jsonl",
    "signature.dsse.json",
    "verify.py",
}


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"
    settings.KEYS_DIR = tmp_path / "keys"


@pytest.fixture
def world() -> ExportWorld:
    return ready(make_bundle_world)


@pytest.fixture
def folder(world: ExportWorld, tmp_path: Path) -> Path:
    return unpacked(world.export("bundle")[1], tmp_path / "unpacked")


def _read(text: str | bytes) -> Any:
    return strict_json.loads(text)


def _names(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.proves("E2", "E3")
def test_a_bundle_is_checked_by_plain_python_from_any_folder(folder: Path, tmp_path: Path) -> None:
    names = _names(folder)
    assert {name for name in names if not name.startswith("artefacts/")} == MEMBERS
    assert len(names) == len(MEMBERS) + 4
    moved = tmp_path / "somewhere else"
    folder.rename(moved)
    elsewhere = str(moved / "verify.py")
    for command, where in (
        (["verify.py"], moved),
        (["-I", "verify.py"], moved),  # as careful people start what somebody sent them
        ([elsewhere], tmp_path),
    ):
        ran = subprocess.run(
            [sys.executable, "-S", *command],  # without what is installed
            cwd=where,
            capture_output=True,
            text=True,
            env={},
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "each of 6 records is in the log" in ran.stdout
        assert "nothing is left out" in ran.stdout
        assert "agrees with itself" in ran.stdout
    assert _names(moved) == names, "checking leaves nothing behind"


def test_the_product_that_imports_the_checker_keeps_its_bytecode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It once switched that off for every process: each compiled what it imports anew."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    runpy.run_path(offline.__file__, run_name="imported")
    assert not sys.dont_write_bytecode


def test_records_are_the_stored_lines_and_every_file_is_summed(
    world: ExportWorld, folder: Path
) -> None:
    assert (folder / "records.jsonl").read_text().splitlines() == texts_of(world.tenant.pk)
    lines = [line.split("  ") for line in (folder / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, name in lines}
    assert set(sums) == _names(folder) - {"SHA256SUMS"}
    assert all(sha256_of(folder / name) == digest for name, digest in sums.items())


def test_what_is_proved_and_what_is_not_is_said(folder: Path) -> None:
    report = verdict(folder)
    assert report.wrong == []
    said = "\n".join(report.proved)
    for part in (
        "every one of 15 files",
        "the list of all files is signed",
        "each of 6 records",
        "6 events about their approvals",
        "nothing is left out",
        "the log only grew",
        "3 manifests, packs and policies",
    ):
        assert part in said
    assert any("keys inside a bundle prove only" in line for line in report.open)


def test_fingerprints_got_another_way_say_who_made_it(folder: Path) -> None:
    kids = [signer_for(p).verification_key.kid for p in (KeyPurpose.EXPORTS, KeyPurpose.LOG)]
    report = verdict(folder, *kids)
    assert report.wrong == []
    assert any("whose fingerprints you gave" in line for line in report.proved)
    assert not any("keys inside" in line for line in report.open)
    assert verdict(folder, "somebody-else").wrong


@pytest.mark.proves("E2")
def test_one_flipped_bit_in_any_file_is_found(folder: Path) -> None:
    for name in sorted(_names(folder)):
        path = folder / name
        content = path.read_bytes()
        for place in {0, len(content) // 2, len(content) - 1}:
            changed = bytearray(content)
            changed[place] ^= 1
            path.write_bytes(bytes(changed))
            assert verdict(folder).wrong, (name, place)
        path.write_bytes(content)
    assert not verdict(folder).wrong


def test_a_missing_an_additional_and_a_swapped_file_are_found(folder: Path, tmp_path: Path) -> None:
    for name in sorted(_names(folder)):
        (folder / name).rename(tmp_path / "aside")
        assert verdict(folder).wrong, name
        (tmp_path / "aside").rename(folder / name)
    (folder / "more.txt").write_text("one too many")
    assert "more.txt" in verdict(folder).wrong[0]
    (folder / "more.txt").unlink()
    one, other = sorted((folder / "artefacts").iterdir())[:2]
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    assert verdict(folder).wrong


def test_new_sums_do_not_help_a_forger_without_keys(folder: Path) -> None:
    for name in sorted(_names(folder) - {"SHA256SUMS", "verify.py", "ed25519.py"}):
        path = folder / name
        content = path.read_bytes()
        changed = bytearray(content)
        changed[len(changed) // 2] ^= 2
        path.write_bytes(bytes(changed))
        with_new_sums(folder)
        assert verdict(folder).wrong, name
        path.write_bytes(content)


def test_links_and_names_that_lead_elsewhere_are_refused(folder: Path, tmp_path: Path) -> None:
    import zipfile

    (folder / "README.txt").rename(tmp_path / "README.txt")
    (folder / "README.txt").symlink_to(tmp_path / "README.txt")
    assert "link" in verdict(folder).wrong[0]
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w") as packed:
        packed.writestr("../../escaped", "x")
    assert "elsewhere" in offline.verify(str(evil)).wrong[0]
    assert offline.verify(str(tmp_path / "nothing")).wrong


# --- a thief of the export key --------------------------------------------------------------------
def _resigned(folder: Path, signer: Any, change: Any = lambda claim: None) -> None:
    """What somebody with a key can do: list the files anew, sign the list, sum everything."""
    envelope = _read((folder / "signature.dsse.json").read_text())
    claim = _read(base64.b64decode(envelope["payload"]))
    change(claim)
    skipped = {"SHA256SUMS", "signature.dsse.json"}
    claim["members"] = [
        {"name": name, "sha256": sha256_of(folder / name)}
        for name in sorted(_names(folder) - skipped)
    ]
    made = sign_envelope(canonicalise(claim), payload_type=offline.PAYLOAD_TYPE, signers=[signer])
    (folder / "signature.dsse.json").write_bytes(canonicalise(made))
    with_new_sums(folder)


def _without_line(folder: Path, number: int) -> None:
    """One record less, its proof too, the rest numbered anew."""
    lines = (folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    proofs = [_read(line) for line in (folder / "proofs.jsonl").read_bytes().splitlines()]
    del lines[number], proofs[number]
    for place, proof in enumerate(proofs[: len(lines)], start=1):
        proof["line"] = place
    (folder / "records.jsonl").write_bytes(b"".join(lines))
    (folder / "proofs.jsonl").write_bytes(b"".join(canonicalise(p) + b"\n" for p in proofs))


@pytest.mark.proves("E2")
def test_a_record_left_out_by_somebody_with_the_export_key_leaves_a_gap(folder: Path) -> None:
    def fewer(claim: Any) -> None:
        claim["counts"]["records.jsonl"] -= 1

    _resigned(folder, signer_for(KeyPurpose.EXPORTS))
    assert not verdict(folder).wrong
    _without_line(folder, 3)
    _resigned(folder, signer_for(KeyPurpose.EXPORTS), fewer)
    assert "left out" in verdict(folder).wrong[0]


def test_a_changed_record_is_not_in_the_log_whoever_signs(folder: Path) -> None:
    path = folder / "records.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"cost_cents":4200', b'"cost_cents":4201', 1))
    _resigned(folder, signer_for(KeyPurpose.EXPORTS))
    wrong = "\n".join(verdict(folder).wrong)
    assert "record_hash" in wrong
    assert "not in the log" in wrong


def test_a_vote_on_something_else_is_found(world: ExportWorld, tmp_path: Path) -> None:
    world.record(
        approvals=[
            {"approval_id": "apr_x", "digest": "sha256:a", "votes": [{"digest": "sha256:b"}]}
        ]
    )
    seal(world)
    folder = unpacked(world.export("bundle")[1], tmp_path / "votes")
    assert any("a vote on something else" in line for line in verdict(folder).wrong)


def test_keys_of_a_stranger_are_unmasked_by_the_fingerprints(folder: Path) -> None:
    ours = [signer_for(p).verification_key.kid for p in (KeyPurpose.EXPORTS, KeyPurpose.LOG)]
    stranger = Ed25519Signer.generate()
    keys = _read((folder / "keys.json").read_text())
    keys["exports"] = [stranger.verification_key.jwk()]
    (folder / "keys.json").write_bytes(canonicalise(keys))
    _resigned(folder, stranger)
    assert not verdict(folder).wrong, "it agrees with itself, and says that this is all"
    assert verdict(folder, *ours).wrong


def test_a_rewritten_log_is_found_by_the_checkpoint_before(folder: Path) -> None:
    held = _read((folder / "consistency.json").read_text())
    held["hashes"] = held["hashes"][::-1] + held["hashes"]
    (folder / "consistency.json").write_bytes(canonicalise(held))
    _resigned(folder, signer_for(KeyPurpose.EXPORTS))
    assert any("rewritten" in line for line in verdict(folder).wrong)


# --- choices, samples, windows --------------------------------------------------------------------
def test_a_choice_says_that_it_proves_nothing_about_the_rest(
    world: ExportWorld, tmp_path: Path
) -> None:
    job, path = world.export("bundle", {"capability": "payments.issue_refund"})
    report = verdict(unpacked(path, tmp_path / "choice"))
    assert (job.rows, report.wrong) == (6, [])
    assert any("that no other record matches" in line for line in report.open)
    assert not any("nothing is left out" in line for line in report.proved)


def test_a_bundle_of_nothing_is_valid_and_says_so(world: ExportWorld, tmp_path: Path) -> None:
    job, path = world.export("bundle", {"user": "nobody"})
    report = verdict(unpacked(path, tmp_path / "none"))
    assert (job.rows, report.wrong) == (0, [])
    assert "each of 0 records is in the log, unchanged, under that checkpoint" in report.proved


def test_a_sample_is_the_one_its_seed_draws(world: ExportWorld, tmp_path: Path) -> None:
    job, path = world.export("bundle", sample={"size": 2, "seed": "audit-2026"})
    folder = unpacked(path, tmp_path / "sample")
    report = verdict(folder)
    assert (job.rows, report.wrong) == (2, [])
    assert "the sample is the one its seed draws: 2 of 6 records, seed audit-2026" in report.proved
    assert any("is the word of who made the bundle" in line for line in report.open)
    again, _ = world.export("jsonl", sample={"size": 2, "seed": "audit-2026"})
    assert again.rows == 2

    seeds = [verdict_of_seed(folder, seed) for seed in ("a", "b", "c", "d", "e", "f", "g", "h")]
    assert not all(seeds), "another seed draws another sample"


def test_json_that_is_too_deep_is_told_in_words(folder: Path) -> None:
    (folder / "keys.json").write_text("[" * 100_000)
    with_new_sums(folder)
    (said,) = verdict(folder).wrong
    assert said.startswith("The bundle is malformed (RecursionError")


def test_a_record_committed_late_is_still_drawn_from(
    world: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id was made before that of the newest record: it belongs to the population."""
    newest = utcnow()
    world.record(created_at=newest, approvals=())
    waited: list[float] = []

    def others_go_on(seconds: float) -> None:
        waited.append(seconds)
        world.record(created_at=newest - timedelta(milliseconds=5), approvals=())
        seal(world)

    monkeypatch.setattr("audit.export.runner._SETTLED_SECONDS", 60.0)  # however slow we are
    monkeypatch.setattr("audit.export.runner.time.sleep", others_go_on)
    _, path = world.export("bundle", sample={"size": 2, "seed": "audit-2026"})
    monkeypatch.undo()
    assert [0 < seconds <= 60 for seconds in waited] == [True]
    report = verdict(unpacked(path, tmp_path / "sample"))
    assert report.wrong == []
    assert "the sample is the one its seed draws: 2 of 8 records, seed audit-2026" in report.proved


def verdict_of_seed(folder: Path, seed: str) -> bool:
    def reseed(claim: Any) -> None:
        claim["sample"]["seed"] = seed

    _resigned(folder, signer_for(KeyPurpose.EXPORTS), reseed)
    return not verdict(folder).wrong


def test_what_an_auditor_may_not_see_is_there_by_its_hash(
    world: ExportWorld, tmp_path: Path
) -> None:
    from audit.accesses import Terms, grant_access
    from contextos.core.clock import utcnow
    from tests.factories import SYSTEM

    terms = Terms(
        starts_at=utcnow() - timedelta(days=1),
        ends_at=utcnow() + timedelta(days=1),
        data_from=MOMENT + timedelta(minutes=1),
        data_until=MOMENT + timedelta(minutes=4),
    )
    grant_access(
        user=world.auditor, tenant_id=world.tenant.pk, terms=terms, actor=SYSTEM, reason="audit"
    )
    job, path = world.export("bundle")
    folder = unpacked(path, tmp_path / "window")
    report = verdict(folder)
    assert (job.rows, report.wrong) == (3, [])
    assert (folder / "others.jsonl").read_bytes() == b""
    assert any("by their hash alone" in line for line in report.open)
    assert any("without a gap" in line for line in report.proved)
    assert not any("nothing is left out" in line for line in report.proved)
    assert any("no record of the period stands behind" in line for line in report.open)


def test_hostile_text_travels_unharmed(tmp_path: Path) -> None:
    world = make_export_world(records=1, hostile=True)
    seal(world)
    folder = unpacked(world.export("bundle")[1], tmp_path / "hostile")
    assert verdict(folder).wrong == []


# --- sealing --------------------------------------------------------------------------------------
def test_records_that_are_never_sealed_end_in_a_failure_that_says_so(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_log, "SEALED_WITHIN", 0.0)
    world.record()
    job = world.request("bundle")
    run_export(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == ("failed", "export.not_sealed")


def test_the_tail_is_waited_for(world: ExportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.record(created_at=MOMENT + timedelta(hours=1))
    monkeypatch.setattr("time.sleep", lambda seconds: seal(world))
    job, _ = world.export("bundle", {"from": format_time(MOMENT)})
    assert job.rows == 7


def test_proofs_made_in_bulk_are_those_made_one_by_one(world: ExportWorld) -> None:
    for number in range(300):
        world.record(created_at=MOMENT + timedelta(seconds=number))
    seal(world)
    tenant_id = world.tenant.pk
    newest = latest_checkpoint(tenant_id=tenant_id)
    assert newest is not None
    maker = ProofMaker(tenant_id=tenant_id, size=newest.tree_size)
    for index in (0, 1, 7, 255, 256, 257, newest.tree_size - 1):
        expected = inclusion_proof(tenant_id=tenant_id, index=index, size=newest.tree_size)
        assert maker.proof(index) == expected


def test_the_checker_needs_no_newer_python_than_it_says() -> None:
    here = Path(offline.__file__).parent
    for name in ("verify.py", "ed25519.py"):
        tree = ast.parse((here / name).read_text(), feature_version=(3, 8))
        imported = {
            alias.name.partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert imported - {"ed25519"} <= set(sys.stdlib_module_names)


def test_an_export_of_a_bundle_is_an_event_with_its_hash(world: ExportWorld) -> None:
    job, path = world.export("bundle")
    event = AuditEvent.objects.get(action="audit.export.done", subject_id=job.pk)
    assert sha256_of(path) in event.text


# --- the command ----------------------------------------------------------------------------------
def test_the_command_checks_what_was_exported(
    world: ExportWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("bundle.zip", "records.jsonl", "records.csv"):
        out = tmp_path / name
        kind = {"zip": "bundle"}.get(out.suffix[1:], out.suffix[1:])
        call_command("export_decisions", "--format", kind, "--out", str(out))
        call_command("verify_export", str(out))
        changed = bytearray(out.read_bytes())
        changed[len(changed) // 2] ^= 1
        out.write_bytes(bytes(changed))
        with pytest.raises(CommandError):
            call_command("verify_export", str(out))
    said = capsys.readouterr().out
    assert "both keys are the ones whose fingerprints you gave" in said
    assert "each of 6 lines is canonical" in said


def test_wherever_a_bundle_is_damaged_its_checker_says_so_in_words(
    world: ExportWorld, tmp_path: Path
) -> None:
    out = tmp_path / "bundle.zip"
    call_command("export_decisions", "--format", "bundle", "--out", str(out))
    sound, silent = out.read_bytes(), 0
    for place in range(0, len(sound), max(1, len(sound) // 150)):
        changed = bytearray(sound)
        changed[place] ^= 1 << place % 8
        out.write_bytes(bytes(changed))
        silent += not offline.verify(str(out)).wrong
    assert silent <= 20  # a date or a flag of the zip itself, of which nothing is claimed


def test_the_command_tells_ours_from_a_stranger_s(folder: Path, settings: Any) -> None:
    call_command("verify_export", str(folder))
    settings.KEYS_DIR = folder.parent / "other keys"
    key_store().ensure(KeyPurpose.EXPORTS)
    with pytest.raises(CommandError):
        call_command("verify_export", str(folder))
    with pytest.raises(CommandError):
        call_command("verify_export", str(folder.parent / "nothing"))


def test_the_command_without_an_installation_says_what_the_checker_says(
    folder: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.KEYS_DIR = folder.parent / "no keys"
    call_command("verify_export", str(folder))
    assert "not proved  that it is ours: no keys are here" in capsys.readouterr().out
    (folder / "records.jsonl").write_bytes(b"")
    with pytest.raises(CommandError):
        call_command("verify_export", str(folder))
