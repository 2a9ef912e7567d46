"""`verify_log`: a log as signed passes; whatever was done to it behind our back is found."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from audit import merkle
from audit.checkpoint_note import sign_checkpoint
from audit.decision_record import DecisionStatus
from audit.decisions import record_decision
from audit.event_record import hashed_text, leaf_hash
from audit.models import Checkpoint, DecisionBody, LogHead, LogLeaf, OutsideMark, UnsealedLeaf
from audit.sealer import Sealer
from audit.verifying.findings import Kind, Report
from audit.verifying.log import MOST_NAMED, logs_there_are, verify_tenant
from audit.verifying.walk import Part
from contextos.core import strict_json
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store
from contextos.identity.services import revoke_key, rotate_key
from tests.audit.logs import MOMENT, TENANT, facts, write_events, write_records
from tests.audit.tampering import DAMAGES, sql, without_triggers
from tests.factories import SYSTEM

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]
APPROVALS = [{"gate": "GATE_ONE", "votes": [{"approver": "user_9", "verdict": "approve"}]}]
HOSTILE = "\u202egnp.exe\u0007 <script>\"'; DROP TABLE audit_logleaf; -- \U0001f4a5 é\\u0000 \n\r\t"


@pytest.fixture(autouse=True)
def outside(settings: Any, tmp_path: Path, monkeypatch: Any) -> Path:
    settings.CHECKPOINTS_DIR = tmp_path / "checkpoints"
    settings.KEYS_DIR = tmp_path / "keys"
    for module in ("audit.merkle.FANOUT_BITS", "audit.verifying.walk.merkle.FANOUT_BITS"):
        monkeypatch.setattr(module, 3)  # nodes over 8 leaves, so that a small log has some
    monkeypatch.setattr("audit.verifying.walk.GROUP", 8)
    monkeypatch.setattr("audit.verifying.walk.BLOCK", 16)
    return tmp_path / "checkpoints"


def small_log(tenant_id: str = TENANT) -> None:
    """Thirty leaves in five rounds; some mention approvers, one is hostile in every field."""
    sealer = Sealer()
    for number in range(5):
        write_records(3, tenant_id)
        write_events(2, tenant_id)
        record_decision(facts(tenant_id, approvals=APPROVALS, intent=f"{HOSTILE}{number}"[:150]))
        sealer.round()


def verified(outside: Path, **how: Any) -> Report:
    return verify_tenant(TENANT, outside=outside, **how)


def kinds(report: Report) -> set[Kind]:
    return {finding.kind for finding in report.findings}


def test_a_log_as_signed_passes_and_says_what_was_read(outside: Path) -> None:
    small_log()
    report = verified(outside)
    assert report.findings == []
    assert (report.checked, report.tree_size) == (30, 30)
    assert (report.checkpoints, report.outside) == (5, 5)


def test_the_command_tells_it_in_words_and_by_its_exit_code(outside: Path, capsys: Any) -> None:
    small_log()
    call_command("verify_log")
    said = capsys.readouterr().out
    assert f"{TENANT}: as signed (30 of 30 leaves read, 5 checkpoints, 5 outside;" in said
    with without_triggers():
        sql(
            "UPDATE audit_decisionrow SET status = 'REJECTED' "
            "WHERE record_id = (SELECT min(record_id) FROM audit_decisionrow)"
        )
    with pytest.raises(CommandError) as failed:
        call_command("verify_log", "--tenant", TENANT)
    assert failed.value.returncode == 1
    said = capsys.readouterr().out
    assert "NOT AS SIGNED" in said
    assert "first bad index: " in said
    assert "column at index" in said
    for bad in (["--tenant", "nobody"], ["--from", "5", "--to", "3"], ["--from", "-1"]):
        with pytest.raises(CommandError) as refused:
            call_command("verify_log", *bad)
        assert refused.value.returncode == 2


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage.__name__))
def test_each_kind_of_tampering_is_found(outside: Path, damage: Any) -> None:
    small_log()
    with without_triggers():
        found = [_found(outside, damage, seed) for seed in range(8)]
    assert found == [""] * len(found)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage.__name__))
def test_tampering_is_found_where_rows_lie_far_apart_among_others(
    outside: Path, damage: Any, monkeypatch: Any
) -> None:
    """Then each is looked up, instead of a range of them being read."""
    monkeypatch.setattr("audit.verifying.rows.SPREAD", 0)
    small_log()
    assert verified(outside).findings == []
    with without_triggers():
        found = [_found(outside, damage, seed) for seed in range(3)]
    assert found == [""] * len(found)


@pytest.mark.parametrize("spread", [0, 2])
@pytest.mark.parametrize("table", ["audit_decisionrow", "audit_decisionbody", "audit_auditevent"])
def test_a_second_row_of_a_name_hides_behind_no_first(
    outside: Path, table: str, spread: int, monkeypatch: Any
) -> None:
    """Somebody who owns the database can take its constraints away too."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite can't drop a primary key")
    monkeypatch.setattr("audit.verifying.rows.SPREAD", spread)
    small_log()
    key = "event_id" if table == "audit_auditevent" else "record_id"
    forged = "text" if table == "audit_decisionbody" else "tenant_id"
    with without_triggers():
        _drop_constraints(table)
        sql(f"CREATE TEMPORARY TABLE second AS SELECT * FROM {table} WHERE {key} = "
            f"(SELECT max({key}) FROM {table})")  # fmt: skip
        sql(f"UPDATE second SET {forged} = 'forged'")
        sql(f"INSERT INTO {table} SELECT * FROM second")
    assert kinds(verified(outside)) & {Kind.COLUMN, Kind.TEXT_CHANGED}


def _drop_constraints(table: str) -> None:
    for (name,) in sql(
        "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('p', 'u')",
        table,
    ):
        sql(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
    for (name,) in sql(
        "SELECT indexrelid::regclass::text FROM pg_index "
        "WHERE indrelid = %s::regclass AND indisunique",
        table,
    ):
        sql(f"DROP INDEX {name}")


def test_a_leaf_that_took_the_name_of_another_is_found(outside: Path) -> None:
    """Its own row is gone, so nothing else would miss it."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite can't drop a primary key")
    small_log()
    rows = "SELECT leaf_id FROM audit_logleaf WHERE leaf_id LIKE %s ORDER BY log_index"
    (first,), (second,) = sql(rows, "aud%")[:2]
    with without_triggers():
        _drop_constraints("audit_logleaf")
        sql("DELETE FROM audit_auditevent WHERE event_id = %s", second)
        sql("UPDATE audit_logleaf SET leaf_id = %s WHERE leaf_id = %s", first, second)
    assert Kind.TEXT_CHANGED in kinds(verified(outside))


def test_a_time_that_no_calendar_has_is_found(outside: Path) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite's times are texts")
    small_log()
    with without_triggers():
        for table in ("audit_decisionrow", "audit_decisionbody"):
            sql(
                f"UPDATE {table} SET created_at = 'infinity' "
                "WHERE record_id = (SELECT min(record_id) FROM audit_decisionrow)"
            )
    (finding,) = verified(outside).findings
    assert finding.kind is Kind.COLUMN
    assert "created_at is infinity" in finding.message


def test_a_time_written_in_another_way_is_found(outside: Path) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL keeps times, not texts")
    small_log()
    with without_triggers():
        sql("UPDATE audit_auditevent SET created_at = replace(created_at, ' ', 'T')")
    assert kinds(verified(outside)) == {Kind.COLUMN}


@pytest.mark.scale
def test_a_thousand_random_acts_of_tampering_are_all_found(outside: Path) -> None:
    small_log()
    chance = random.Random(20261117)
    with without_triggers():
        missed = [_found(outside, chance.choice(DAMAGES), seed) for seed in range(1000)]
    assert [each for each in missed if each] == []


def _found(outside: Path, damage: Any, seed: int) -> str:
    """What was done and not found; nothing else remains of it afterwards."""
    with transaction.atomic():
        what = damage(random.Random(seed))
        sound = verified(outside).is_sound
        transaction.set_rollback(True)
    return f"{damage.__name__} {seed}: {what}" if sound else ""


def test_a_row_changed_and_put_back_is_no_finding(outside: Path) -> None:
    small_log()
    with without_triggers(), transaction.atomic():
        DAMAGES[0](random.Random(1))
        transaction.set_rollback(True)
    assert verified(outside).is_sound


def test_the_first_bad_index_is_named(outside: Path) -> None:
    small_log()
    name = LogLeaf.objects.get(log_index=13).leaf_id
    later = LogLeaf.objects.get(log_index=20).leaf_id
    with without_triggers():
        for each in (later, name):
            sql("UPDATE audit_decisionbody SET text = text || ' ' WHERE record_id = %s", each)
            sql("UPDATE audit_auditevent SET text = text || ' ' WHERE event_id = %s", each)
    assert verified(outside).first_bad_index == 13


def test_a_history_rewritten_together_with_its_checkpoints_is_found_by_the_files(
    outside: Path,
) -> None:
    """By somebody who has the database and the log's private key."""
    small_log()
    event = sql("SELECT event_id, text FROM audit_auditevent ORDER BY event_id")[0]
    record = {k: v for k, v in strict_json.loads_object(event[1]).items() if k != "record_hash"}
    forged = hashed_text({**record, "reason": "nothing happened"})
    with without_triggers():
        leaf = leaf_hash(forged)
        sql(
            "UPDATE audit_auditevent SET text = %s, leaf_hash = %s WHERE event_id = %s",
            forged,
            leaf,
            event[0],
        )
        sql("UPDATE audit_logleaf SET leaf_hash = %s WHERE leaf_id = %s", leaf, event[0])
        _sign_everything_anew()
    report = verified(outside)
    assert kinds(report) >= {Kind.OUTSIDE_DIFFERS}
    assert verified(outside.parent / "no such folder").findings[0].kind == Kind.OUTSIDE_MISSING


def _sign_everything_anew() -> None:
    head, signer = LogHead.objects.get(), key_store().signer(KeyPurpose.LOG)
    leaves = [
        bytes(x) for x in LogLeaf.objects.order_by("log_index").values_list("leaf_hash", flat=True)
    ]
    tree = merkle.CompactTree()
    sql("DELETE FROM audit_lognode")
    for level, position, root in list(tree.grow(leaves)):
        sql(
            "INSERT INTO audit_lognode (tenant_id, level, position, root_hash) "
            "VALUES (%s, %s, %s, %s)",
            head.tenant_id,
            level,
            position,
            root,
        )
    for row in Checkpoint.objects.all():
        root = merkle.root_of(leaves[: row.tree_size])
        text = sign_checkpoint(
            origin=head.origin, tree_size=row.tree_size, root_hash=root, signer=signer
        )
        sql(
            "UPDATE audit_checkpoint SET root_hash = %s, text = %s WHERE id = %s",
            root,
            text,
            row.pk,
        )
    LogHead.objects.update(root_hash=tree.root(), peaks=b"".join(tree.peaks))


def test_a_checkpoint_file_that_was_deleted_is_named(outside: Path) -> None:
    small_log()
    (path,) = outside.rglob("*.jsonl")
    path.unlink()
    (finding,) = verified(outside).findings
    assert finding.kind is Kind.OUTSIDE_MISSING
    assert f"{TENANT}/{path.name} is missing" in finding.message


def test_a_line_taken_from_a_checkpoint_file_is_missed(outside: Path) -> None:
    small_log()
    (path,) = outside.rglob("*.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    (finding,) = verified(outside).findings
    assert "lacks the checkpoint over 18 leaves" in finding.message
    path.write_text("".join([*lines, "rubbish\n"]))
    assert kinds(verified(outside)) == {Kind.OUTSIDE_UNREADABLE}


def test_a_truncated_log_whose_marks_were_moved_back_is_still_found(outside: Path) -> None:
    small_log()
    with without_triggers():
        DAMAGES[-1](random.Random(3))
        OutsideMark.objects.all().delete()
    report = verified(outside)
    assert kinds(report) == {Kind.OUTSIDE_DIFFERS}
    assert report.first_bad_index == report.tree_size


def test_a_log_whose_head_was_taken_away_is_still_looked_at(tmp_path: Path) -> None:
    """Also where nobody has the files: its checkpoints and leaves are there all the same."""
    small_log()
    LogHead.objects.all().delete()
    OutsideMark.objects.all().delete()
    nowhere = tmp_path / "nowhere"
    assert logs_there_are(nowhere) == [TENANT]
    found = kinds(verify_tenant(TENANT, outside=nowhere))
    assert found == {Kind.LEAF_EXTRA, Kind.CHECKPOINT, Kind.NODE}


def test_a_record_nobody_queued_is_found(outside: Path) -> None:
    small_log()
    (name,) = write_records(1)
    UnsealedLeaf.objects.filter(pk=name).delete()
    (finding,) = verified(outside).findings
    assert (finding.kind, name in finding.message) == (Kind.NEVER_SEALED, True)


def test_texts_without_a_record_of_one_tenant_do_not_hide_those_of_another(outside: Path) -> None:
    small_log()
    for number in range(MOST_NAMED + 2):
        _stray(f"rec_0other{number:02d}", "tenant_other")
    _stray("rec_1ours", TENANT)
    findings = verified(outside).findings
    assert [(found.kind, "rec_1ours" in found.message) for found in findings] == [
        (Kind.NEVER_SEALED, True)
    ]


def _stray(record_id: str, tenant_id: str) -> None:
    text = strict_json.dumps({"tenant_id": tenant_id})
    DecisionBody.objects.create(record_id=record_id, created_at=MOMENT, text=text)


def test_rows_that_wait_are_checked_and_counted(outside: Path) -> None:
    small_log()
    (name,) = write_records(1)
    report = verified(outside)
    assert (report.is_sound, report.waiting) == (True, 1)
    UnsealedLeaf.objects.filter(pk=name).update(leaf_hash=b"x" * 32)
    assert kinds(verified(outside)) == {Kind.UNSEALED}


def test_a_part_of_the_log_can_be_read_alone(outside: Path) -> None:
    small_log()
    for first, last in ((0, 8), (9, 17), (16, 30), (29, 30), (5, None)):
        report = verified(outside, part=Part(first, last))
        assert report.findings == []
        assert 0 < report.checked <= 30
    with without_triggers():
        name = LogLeaf.objects.get(log_index=20).leaf_id
        sql("UPDATE audit_logleaf SET leaf_hash = %s WHERE leaf_id = %s", b"y" * 32, name)
    assert verified(outside, part=Part(0, 8)).is_sound  # the nodes beyond still say the same
    assert verified(outside, part=Part(16, 24)).first_bad_index is not None


def test_mentions_that_were_changed_are_found(outside: Path) -> None:
    small_log()
    with without_triggers():
        sql(
            "UPDATE audit_decisionmention SET value = 'user_0' WHERE kind = 'approver' "
            "AND record_id = (SELECT min(record_id) FROM audit_decisionmention)"
        )
    assert kinds(verified(outside)) == {Kind.MENTIONS}


def test_columns_that_together_say_the_same_are_found(outside: Path) -> None:
    """Columns are read in one: a part of one that was moved to the next must not hide."""
    record_decision(facts(run_id="run\x1f1", trace_id="2"))
    Sealer().round()
    assert verified(outside).findings == []
    with without_triggers():
        sql("UPDATE audit_decisionrow SET run_id = 'run', trace_id = %s", "1\x1f2")
    (finding,) = verified(outside).findings
    assert finding.kind is Kind.COLUMN
    assert "run_id is 'run'" in finding.message


@pytest.mark.proves("E1")
def test_hostile_text_in_every_field_is_sealed_and_verified(outside: Path) -> None:
    hostile = HOSTILE.replace("\n", " ")[:60]
    record_decision(
        facts(
            status=DecisionStatus.REJECTED,
            intent=hostile,
            run_id=hostile[:40],
            trace_id=hostile[:32],
            session_id=hostile,
            decision_key=hostile,
            error={"code": hostile, "record_hash": "sha256:" + "0" * 64, hostile: hostile},
            policy_decision={"record_hash": "sha256:" + "1" * 64, "reason": hostile},
            approvals=[{"gate": hostile, "votes": [{"approver": hostile}]}],
            evidence_refs=[hostile],
            plan={',"record_hash":"sha256:': hostile},
        )
    )
    Sealer().round()
    assert verified(outside).findings == []


def test_two_tenants_interleaved_are_verified_apart(outside: Path) -> None:
    small_log()
    small_log("tenant_two")
    small_log()
    for tenant_id, size in ((TENANT, 60), ("tenant_two", 30)):
        report = verify_tenant(tenant_id, outside=outside)
        assert (report.findings, report.tree_size) == ([], size)
    with without_triggers():
        sql("UPDATE audit_auditevent SET tenant_id = 'tenant_two' WHERE tenant_id = %s", TENANT)
    assert Kind.COLUMN in kinds(verified(outside))


# --- keys ----------------------------------------------------------------------------------------
def test_checkpoints_of_a_key_that_was_rotated_out_still_count(outside: Path) -> None:
    small_log()
    rotate_key(purpose=KeyPurpose.LOG, actor=SYSTEM, reason="yearly")
    small_log()
    report = verified(outside)
    assert report.findings == []
    assert len(set(Checkpoint.objects.values_list("kid", flat=True))) == 2


def test_what_a_stolen_key_signed_counts_again_once_another_key_vouches_for_it(
    outside: Path,
) -> None:
    small_log()
    stolen = key_store().signer(KeyPurpose.LOG).verification_key.kid
    revoke_key(purpose=KeyPurpose.LOG, kid=stolen, actor=SYSTEM, reason="a laptop was stolen")
    assert kinds(verified(outside)) == {Kind.SIGNATURE}
    Sealer().round()  # signs every log anew as it stands
    assert verified(outside).findings == []


def test_a_checkpoint_of_a_key_nobody_knows_is_found(outside: Path) -> None:
    small_log()
    rotate_key(purpose=KeyPurpose.LOG, actor=SYSTEM, reason="yearly")
    small_log()
    (lost,) = (record for record in key_store().keys(KeyPurpose.LOG) if not record.active)
    (outside.parent / "keys" / "log" / f"{lost.key.kid}.json").unlink()
    report = verified(outside)
    assert kinds(report) == {Kind.SIGNATURE}
    assert "no key in the key folder" in report.findings[0].message


def test_a_log_that_grows_while_it_is_read_is_no_finding(outside: Path) -> None:
    small_log()
    grown: list[int] = []

    def meanwhile(done: int, of: int) -> None:
        if not grown:
            grown.append(done)
            write_records(2)
            Sealer().round()

    report = verified(outside, progress=meanwhile)
    assert grown
    assert report.is_sound, report.findings
    assert report.tree_size == 30
