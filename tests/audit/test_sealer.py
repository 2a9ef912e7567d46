"""The sealer: rounds, the tail, what it writes outside the database, and whom it believes."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from audit import sealer as module
from audit.checkpoint_note import read_checkpoint, sign_checkpoint
from audit.lag import failing_places, late_tenants, sealing_lags
from audit.models import Checkpoint, LogHead, LogLeaf, OutsideMark
from audit.outside import files
from audit.outside.remote import send_checkpoints
from audit.outside.sending import send_new
from audit.sealer import Sealer
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.core.signing import Ed25519Signer, KeyPurpose
from contextos.identity import keyring
from contextos.identity.keyring import key_store
from tests.approvals.receivers import SECRET, receiver
from tests.audit.logs import TENANT, waiting, write_events, write_records

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]


@pytest.fixture(autouse=True)
def outside(settings: Any, tmp_path: Path) -> Path:
    settings.CHECKPOINTS_DIR = tmp_path / "checkpoints"
    settings.KEYS_DIR = tmp_path / "keys"
    return tmp_path / "checkpoints"


def kept(outside: Path, tenant_id: str = TENANT) -> list[int]:
    """The sizes that the files tell of."""
    lines = list(files.lines_of(outside, tenant_id))
    assert all(line.note for line in lines)
    return [line.note.tree_size for line in lines if line.note]


def test_a_round_seals_every_tenant_and_writes_the_checkpoints_outside(outside: Path) -> None:
    write_records(2)
    write_events(1, "tenant_two")
    assert Sealer().round() == 3
    assert not waiting()
    assert (kept(outside), kept(outside, "tenant_two")) == ([2], [1])
    (line,) = files.lines_of(outside, TENANT)
    assert line.note == read_checkpoint(Checkpoint.objects.get(tenant_id=TENANT).text)


def test_when_asked_to_stop_it_seals_the_tail(outside: Path) -> None:
    stopping = threading.Event()
    stopping.set()
    write_records(3)
    Sealer().run(stopping)
    assert kept(outside) == [3]


def test_the_command_seals_once_and_says_so(capsys: Any) -> None:
    write_records(1)
    call_command("seal", once=True)
    assert "Nothing waits" in capsys.readouterr().out
    assert LogLeaf.objects.count() == 1


def test_a_crash_before_the_file_was_written_is_made_good_by_the_next_round(
    outside: Path, monkeypatch: Any
) -> None:
    write_records(1)
    with monkeypatch.context() as crash:
        crash.setattr(module, "write_files", lambda _: 0)  # killed between commit and file
        Sealer().round()
    assert kept(outside) == []
    Sealer().round()
    assert kept(outside) == [1]


def test_a_torn_line_says_nothing_and_stands_in_nobodys_way(outside: Path) -> None:
    write_records(1)
    Sealer().round()
    (path,) = outside.rglob("*.jsonl")
    whole = path.read_text()
    path.write_text(whole[:40])  # killed in the middle of the line, before the mark moved on
    OutsideMark.objects.all().delete()
    Sealer().round()
    assert kept(outside) == [1]
    assert path.read_text() == f"{whole[:40]}\n{whole}"


def test_a_line_torn_in_the_middle_of_several_is_the_beginning_of_a_later_one(
    outside: Path,
) -> None:
    sealer = Sealer()
    for _ in range(3):
        write_records(1)
        sealer.round()
    (path,) = outside.rglob("*.jsonl")
    first, second, third = path.read_text().splitlines(keepends=True)
    path.write_text(f"{first}{second[:40]}\n{first}{second}{third}")  # sent again from the first
    assert kept(outside) == [1, 1, 2, 3]


def test_what_a_disk_takes_in_part_is_written_to_the_end(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr("audit.outside.files.os.write", lambda fd, data: write(fd, data[:10]))
    write_records(1)
    Sealer().round()
    assert kept(outside) == [1]


def test_a_full_disk_keeps_nobody_from_sealing_and_is_told(
    outside: Path, settings: Any, caplog: Any
) -> None:
    outside.write_text("a file where the folder should be")
    write_records(1)
    Sealer().round()
    assert not waiting()
    mark = OutsideMark.objects.get()
    assert mark.failed_at is not None
    assert mark.fault.startswith("checkpoint.not_kept")
    settings.SEALING_LAG_ALERT_SECONDS = 0
    assert failing_places(now=utcnow()) == [mark]
    outside.unlink()
    Sealer().round()
    assert OutsideMark.objects.filter(failed_at=None, fault="").exists()
    assert kept(outside) == [1]


def test_what_was_signed_is_known_to_a_new_sealer_from_the_files(outside: Path) -> None:
    write_records(3)
    Sealer().round()
    LogHead.objects.all().delete()  # the database was put back to before
    write_records(1)
    assert Sealer().round() == 0
    assert len(waiting()) == 1
    assert kept(outside) == [3]


def test_a_line_that_no_key_of_ours_signed_stops_nobody(outside: Path) -> None:
    note = sign_checkpoint(
        origin="x/log/y", tree_size=9, root_hash=b"9" * 32, signer=Ed25519Signer.generate()
    )
    forged = Checkpoint(tenant_id=TENANT, tree_size=9, text=note, created_at=utcnow())
    files.append(outside, [forged])
    write_records(1)
    assert Sealer().round() == 1
    assert kept(outside) == [9, 1]


def test_one_log_that_can_not_be_sealed_keeps_no_other(outside: Path) -> None:
    write_records(1, "tenant_bad")
    Sealer().round()
    LogHead.objects.update(tree_size=0)
    write_records(1, "tenant_bad")
    write_records(1, "tenant_good")
    assert Sealer().round() == 1
    assert kept(outside, "tenant_good") == [1]


def test_a_database_that_is_away_is_waited_for(monkeypatch: Any) -> None:
    sealer = Sealer()

    def away(_: Any) -> list[str]:
        raise OperationalError("the server closed the connection")

    with monkeypatch.context() as gone:
        gone.setattr(module, "tenants_to_seal", away)
        gone.setattr(module, "close_old_connections", lambda: None)  # the test's own
        assert sealer._timed_round() == module.PAUSE_AFTER_FAULT
    write_records(1)
    assert sealer._timed_round() <= module.PAUSE_SECONDS
    assert not waiting()


# --- keys ----------------------------------------------------------------------------------------
def test_a_lost_key_leaves_records_waiting_until_a_new_one_is_made(
    outside: Path, monkeypatch: Any
) -> None:
    write_records(1)
    Sealer().round()
    (private,) = (outside.parent / "keys" / "log").glob("*.key.pem")
    private.unlink()
    keyring._store.cache_clear()  # and the sealer was started anew
    write_records(1)
    sealer = Sealer()
    with monkeypatch.context() as kept_open:
        kept_open.setattr(module, "close_old_connections", lambda: None)
        assert sealer._timed_round() == module.PAUSE_AFTER_FAULT
    assert len(waiting()) == 1
    key_store().rotate(KeyPurpose.LOG)
    assert sealer.round() == 1
    assert len({*Checkpoint.objects.values_list("kid", flat=True)}) == 2
    assert kept(outside) == [1, 2]


# --- how far it is behind ------------------------------------------------------------------------
def test_lag_is_the_time_the_oldest_record_waits(settings: Any) -> None:
    write_events(2)
    (lag,) = sealing_lags()
    assert lag.tenant_id == TENANT
    assert 0 <= lag.seconds < 60
    settings.SEALING_LAG_ALERT_SECONDS = 0
    assert [late.tenant_id for late in late_tenants()] == [TENANT]
    with pytest.raises(CommandError, match="behind"):
        call_command("seal", check=True)
    Sealer().round()
    assert sealing_lags() == []
    call_command("seal", check=True)


def test_a_clock_that_ran_behind_is_no_lag() -> None:
    write_events(1)
    Sealer().round()
    write_records(1)  # created_at of these lies in the past
    (lag,) = sealing_lags()
    assert lag.since == LogHead.objects.get(tenant_id=TENANT).sealed_at


# --- others who keep checkpoints -----------------------------------------------------------------
def test_a_webhook_gets_the_newest_checkpoint_signed(settings: Any) -> None:
    with receiver() as place:
        settings.CHECKPOINT_WEBHOOK, settings.CHECKPOINT_WEBHOOK_SECRET = place.url, SECRET
        for _ in range(2):
            write_records(1)
            Sealer().round()
        place.answers = [500]
        assert send_checkpoints() == 0
        assert OutsideMark.objects.get(sink="webhook").failed_at is not None
        assert send_checkpoints() == 1
        assert send_checkpoints() == 0  # it has the newest
    sent = place.requests[-1]
    assert sent.is_signed_with(SECRET)
    newest = Checkpoint.objects.get(tree_size=2)
    assert sent.json["type"] == "log.checkpoint"
    assert sent.json["data"] == {
        "tenant_id": TENANT,
        "tree_size": 2,
        "checkpoint": newest.text,
    }


def test_an_object_store_gets_each_checkpoint_under_a_name_of_its_own(settings: Any) -> None:
    with receiver() as place:
        settings.CHECKPOINT_PUT_URL, settings.CHECKPOINT_PUT_TOKEN = place.url, "a-token"
        write_records(1)
        Sealer().round()
        place.answers = [412]  # there already: sent before a crash
        assert send_checkpoints() == 1
    (sent,) = place.requests
    newest = Checkpoint.objects.get()
    assert sent.path == f"/hooks/in/{TENANT}/00000000000000000001-{newest.kid[:8]}.txt"
    assert sent.body.decode() == newest.text
    assert (sent.headers["if-none-match"], sent.headers["authorization"]) == ("*", "Bearer a-token")


def test_a_place_that_refuses_is_not_sent_to_again_within_one_round(settings: Any) -> None:
    def refusing(_: Any) -> None:
        raise coded_error("delivery.refused")

    write_records(1)
    Sealer().round()
    assert send_new("elsewhere", TENANT, refusing, newest_only=True) == 0
    first = OutsideMark.objects.get(sink="elsewhere").failed_at
    assert send_new("elsewhere", TENANT, refusing, newest_only=True) == 0
    assert OutsideMark.objects.get(sink="elsewhere").failed_at == first
