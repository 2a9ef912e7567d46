"""Export jobs: leases, resumption, cancelling, expiry; no partial file, every step recorded."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from audit.accesses import Terms, grant_access
from audit.export import files, leases, runner, selection
from audit.export.formats import WRITERS
from audit.export.jsonl import JsonLinesWriter
from audit.export.leases import LeaseLostError, due_exports, take_lease
from audit.export.progress import progress_of
from audit.export.runner import run_due_exports, run_export
from audit.export.services import cancel_export, exports_for, open_download, remove_expired
from audit.models import AuditEvent, DecisionBody, ExportJob
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError
from tests.audit.export_world import MOMENT, ExportWorld, make_export_world, texts_of
from tests.factories import SYSTEM, make_member
from tests.putting_back import triggers_asleep
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def world() -> ExportWorld:
    return ready(make_export_world, records=7)


def _actions(world: ExportWorld) -> list[str]:
    rows = AuditEvent.objects.filter(tenant_id=world.tenant.pk, subject_kind="export")
    return [
        name.rpartition(".")[2]
        for name in rows.order_by("event_id").values_list("action", flat=True)
    ]


@pytest.mark.proves("E3")
def test_an_export_is_recorded_when_asked_for_when_written_and_when_fetched(
    world: ExportWorld,
) -> None:
    job, path = world.export("jsonl")
    got, offered = open_download(
        tenant_id=world.tenant.pk, export_id=job.pk, actor=world.actor, window=world.window
    )
    assert (got.rows, offered) == (7, path)
    assert path.read_text().splitlines() == texts_of(world.tenant.pk)
    assert job.sha256 == files.sha256_of(path)
    assert job.size_bytes == path.stat().st_size
    assert _actions(world) == ["requested", "done", "downloaded"]


def test_nothing_but_the_whole_file_is_ever_offered(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.request("jsonl")
    seen: list[tuple[str, list[str]]] = []
    settle = JsonLinesWriter.settle

    def watched(writer: JsonLinesWriter) -> int:
        with pytest.raises(ContextOSError, match=r"export\.not_ready"):
            open_download(
                tenant_id=world.tenant.pk, export_id=job.pk, actor=world.actor, window=world.window
            )
        seen.append(
            (ExportJob.objects.get().file_name, [p.name for p in files.folder().glob("exp*")])
        )
        return settle(writer)

    monkeypatch.setattr(JsonLinesWriter, "settle", watched)
    run_export(job.pk)
    assert seen
    assert set(map(str, seen)) == {str(("", []))}
    assert [p.name for p in files.folder().iterdir()] == [ExportJob.objects.get().file_name]


def test_a_database_row_can_not_claim_to_be_done_without_a_file(world: ExportWorld) -> None:
    job = world.request("csv")
    for lie in (
        {"state": "done", "finished_at": utcnow()},
        {"file_name": "half", "sha256": "0"},
        {"state": "failed", "finished_at": utcnow()},
        {"state": "cancelled"},
        {"state": "perhaps"},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            ExportJob.objects.filter(pk=job.pk).update(**lie)


@pytest.mark.parametrize("format_", ["jsonl", "csv"])
def test_a_killed_worker_is_followed_by_one_that_goes_on_behind_its_cursor(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    whole = world.export(format_)[1].read_bytes()
    monkeypatch.setattr(selection, "BATCH", 2)
    job = world.request(format_)
    writer: Any = WRITERS[format_]
    add, killed = writer.add_block, iter([False] * 2 + [True])

    def dies(self: Any, block: Any) -> None:
        add(self, block)
        if next(killed, False):
            self._file.write(b"half a rec")
            self._file.flush()
            raise KeyboardInterrupt  # as far from a clean end as one process can come

    monkeypatch.setattr(writer, "add_block", dies)
    with pytest.raises(KeyboardInterrupt):
        run_export(job.pk)
    job.refresh_from_db()
    assert (job.state, job.rows, bool(job.cursor)) == ("running", 4, True)
    assert not run_export(job.pk), "its lease still holds"
    ExportJob.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    read: list[str] = []
    batch = selection.Selection.batch

    def counted(self: Any, **how: Any) -> Any:
        for block in batch(self, **how):
            read.extend(block.ids)
            yield block

    monkeypatch.setattr(selection.Selection, "batch", counted)
    assert run_due_exports() == 1
    job.refresh_from_db()
    assert (job.state, job.rows, job.losses) == ("done", 7, 1)
    assert len(read) == 3, "what was settled was not read again"
    assert files.path_of(job).read_bytes() == whole
    assert [path.name for path in files.folder().glob(".*")] == []


@pytest.mark.parametrize(
    ("format_", "ending"),
    [("xlsx", "cancelled"), ("bundle", "cancelled"), ("xlsx", "finished by another")],
)
def test_what_a_killed_worker_left_on_the_disk_is_removed_when_its_export_has_ended(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch, format_: str, ending: str
) -> None:
    _killed_in_the_middle(world, monkeypatch, format_)
    job = ExportJob.objects.get()
    left = {path.name for path in files.folder().iterdir()}
    assert left
    assert remove_expired() == 0
    assert {path.name for path in files.folder().iterdir()} == left, "it may still go on"
    if ending == "cancelled":
        cancel_export(tenant_id=world.tenant.pk, export_id=job.pk, actor=SYSTEM)
        remove_expired(utcnow() + timedelta(minutes=10))
        assert list(files.folder().iterdir()) == []
    else:
        ExportJob.objects.update(lease_until=MOMENT)
        assert run_due_exports() == 1
        job.refresh_from_db()
        assert [path.name for path in files.folder().iterdir()] == [job.file_name]


def _killed_in_the_middle(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    """A killed process cleans nothing up: not even the end of its writer is reached."""
    writer: Any = WRITERS[format_]
    add = writer.add_block

    def dies(self: Any, block: Any) -> None:
        add(self, block)
        raise KeyboardInterrupt

    job = world.request(format_)
    with monkeypatch.context() as patched:
        patched.setattr(writer, "add_block", dies)
        patched.setattr(writer, "abandon", lambda self: None)
        with pytest.raises(KeyboardInterrupt):
            run_export(job.pk)


def test_an_export_whose_part_is_gone_begins_anew(world: ExportWorld) -> None:
    job = world.request("jsonl")
    taken = take_lease(job.pk)
    assert taken is not None
    ExportJob.objects.update(
        first="rec_1", last="rec_z", cursor="rec_5", position=99, rows=4, lease_until=MOMENT
    )
    run_due_exports()
    job.refresh_from_db()
    assert (job.state, job.rows) == ("done", 7)


def test_of_two_workers_one_writes_and_a_late_one_changes_nothing(world: ExportWorld) -> None:
    job = world.request("jsonl")
    slow = take_lease(job.pk)
    assert slow is not None
    assert take_lease(job.pk) is None
    ExportJob.objects.update(lease_until=MOMENT)
    run_due_exports()
    before = ExportJob.objects.get()
    with pytest.raises(LeaseLostError):
        leases.keep_lease(slow, rows=1)
    with pytest.raises(LeaseLostError):
        runner._write(slow, lambda job: None)
    assert ExportJob.objects.get() == before
    assert files.sha256_of(files.path_of(before)) == before.sha256


def test_workers_that_die_again_and_again_end_in_a_failure_that_says_so(
    world: ExportWorld,
) -> None:
    job = world.request("jsonl")
    for _ in range(leases.MOST_LOSSES + 1):
        assert take_lease(job.pk) is not None
        ExportJob.objects.update(lease_until=MOMENT)
    run_due_exports()
    job.refresh_from_db()
    assert (job.state, job.error_code) == ("failed", "export.worker_lost")
    assert _actions(world)[-1] == "failed"


def test_an_unforeseen_fault_is_tried_again_later_and_then_given_up(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(self: Any, block: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(JsonLinesWriter, "add_block", breaks)
    job = world.request("jsonl")
    for _ in range(leases.MOST_LOSSES):
        run_due_exports()
        job.refresh_from_db()
        assert (job.state, list(due_exports(utcnow()))) == ("running", [])
        ExportJob.objects.update(lease_until=MOMENT)
    run_due_exports()
    job.refresh_from_db()
    assert (job.state, job.error_code) == ("failed", "export.failed")
    assert list(files.folder().iterdir()) == []


def test_a_process_that_is_asked_to_stop_gives_the_export_back(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.request("jsonl")
    monkeypatch.setattr(selection, "BATCH", 3)
    monkeypatch.setattr(runner, "is_ending", lambda: True)
    run_export(job.pk)
    job.refresh_from_db()
    assert (job.state, job.rows, job.lease_until) == ("running", 3, None)
    monkeypatch.setattr(runner, "is_ending", lambda: False)
    run_due_exports()
    job.refresh_from_db()
    assert (job.state, job.rows, job.losses) == ("done", 7, 0)


def test_a_cancelled_export_stops_and_leaves_no_file(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.request("jsonl")
    settle = JsonLinesWriter.settle

    def cancelling(self: Any) -> int:
        cancel_export(tenant_id=world.tenant.pk, export_id=job.pk, actor=world.actor)
        return settle(self)

    monkeypatch.setattr(JsonLinesWriter, "settle", cancelling)
    run_export(job.pk)
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert list(files.folder().iterdir()) == []
    assert _actions(world) == ["requested", "cancelled"]
    with pytest.raises(ContextOSError, match=r"state\.transition_refused"):
        cancel_export(tenant_id=world.tenant.pk, export_id=job.pk, actor=world.actor)


def test_files_are_removed_when_their_day_has_passed_and_the_row_stays(world: ExportWorld) -> None:
    job, path = world.export("csv")
    assert remove_expired() == 0
    ExportJob.objects.update(expires_at=MOMENT)
    with pytest.raises(ContextOSError, match=r"export\.expired"):
        open_download(
            tenant_id=world.tenant.pk, export_id=job.pk, actor=world.actor, window=world.window
        )
    assert remove_expired() == 1
    assert not path.exists()
    job.refresh_from_db()
    assert job.removed_at is not None
    assert job.sha256
    assert _actions(world)[-1] == "removed"


def test_what_is_recorded_while_an_export_runs_is_not_part_of_it(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.request("jsonl")
    settle = JsonLinesWriter.settle

    def busy(self: Any) -> int:
        world.record()
        return settle(self)

    monkeypatch.setattr(selection, "BATCH", 3)
    monkeypatch.setattr(JsonLinesWriter, "settle", busy)
    run_export(job.pk)
    job.refresh_from_db()
    assert job.rows == 7


def test_a_record_whose_text_is_gone_is_counted_not_passed_over(world: ExportWorld) -> None:
    from django.db import connection

    with triggers_asleep(connection):
        DecisionBody.objects.order_by("record_id")[:1].get().delete()
    job, _ = world.export("jsonl")
    assert (job.rows, job.missing) == (6, 1)


# --- filters --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({}, 8),
        ({"capability": "orders.lookup"}, 1),
        ({"status": "APPROVED"}, 7),
        ({"status": "REJECTED"}, 1),
        ({"mode": "destructive", "adapter": "adp_payments"}, 8),
        ({"agent": "agent_1", "user": "user_1"}, 8),
        ({"user": "nobody"}, 0),
        ({"trace": "a" * 32}, 1),
        ({"approver": "user_fin1"}, 8),
        ({"approver": "user_fin"}, 0),
        ({"rule": "rule_a"}, 8),
        ({"rule": "rule_b"}, 0),
        ({"from": format_time(MOMENT + timedelta(minutes=5))}, 2),
        ({"to": format_time(MOMENT + timedelta(minutes=1))}, 2),
        ({"from": "2026-11-16T14:01:00+02:00", "to": "2026-11-16T12:03:00Z"}, 2),
    ],
)
def test_every_filter_selects_what_it_says(
    world: ExportWorld, wanted: dict[str, str], rows: int
) -> None:
    from audit.decision_record import CapabilityFacts, DecisionStatus

    world.record(
        status=DecisionStatus.REJECTED,
        capability=CapabilityFacts(id="orders.lookup", mode_effective="destructive"),
        trace_id="a" * 32,
    )
    assert world.export("jsonl", wanted)[0].rows == rows


@pytest.mark.parametrize(
    "wanted",
    [
        {"colour": "red"},
        {"status": "approved"},
        {"mode": "brave"},
        {"from": "yesterday"},
        {"from": "2026-11-16T12:00:00Z", "to": "2026-11-16T12:00:00Z"},
        {"user": "x" * 300},
        {"user": "a\x00b"},
    ],
)
def test_a_filter_of_no_sense_is_refused(world: ExportWorld, wanted: dict[str, Any]) -> None:
    with pytest.raises(ContextOSError, match=r"records\.filter_invalid"):
        world.request("csv", wanted)


def test_exports_of_another_tenant_hold_nothing_of_this_one(world: ExportWorld) -> None:
    other = make_export_world(records=1)
    assert other.export("jsonl")[0].rows == 1
    with pytest.raises(ContextOSError, match=r"request\.not_found"):
        open_download(
            tenant_id=other.tenant.pk,
            export_id=world.request("csv").pk,
            actor=other.actor,
            window=other.window,
        )


# --- who ------------------------------------------------------------------------------------------
def test_an_auditor_exports_no_further_than_their_window(world: ExportWorld) -> None:
    _grant(world, data_from=MOMENT + timedelta(minutes=2), data_until=MOMENT + timedelta(minutes=5))
    job, _ = world.export("jsonl", {"to": format_time(MOMENT + timedelta(minutes=4))})
    assert job.rows == 2
    assert job.filter["from"] == format_time(MOMENT + timedelta(minutes=2))
    with pytest.raises(ContextOSError, match=r"auditor\.outside_window"):
        world.request("jsonl", {"to": format_time(MOMENT)})


def test_a_window_finer_than_a_millisecond_is_exported(world: ExportWorld) -> None:
    finer = timedelta(microseconds=456)
    _grant(
        world,
        data_from=MOMENT + timedelta(minutes=1) + finer,
        data_until=MOMENT + timedelta(minutes=4) + finer,
    )
    job, _ = world.export("jsonl")
    assert job.rows == 3, "the records of minutes 2, 3 and 4"
    open_download(
        tenant_id=world.tenant.pk, export_id=job.pk, actor=world.actor, window=world.window
    )


def test_an_access_that_ended_meanwhile_writes_and_fetches_nothing(world: ExportWorld) -> None:
    done, _ = world.export("jsonl")
    waiting = world.request("jsonl")
    _grant(world, data_from=MOMENT + timedelta(minutes=2))
    run_export(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error_code) == ("failed", "auditor.outside_window")
    with pytest.raises(ContextOSError, match=r"auditor\.outside_window"):
        open_download(
            tenant_id=world.tenant.pk, export_id=done.pk, actor=world.actor, window=world.window
        )


def test_auditors_see_their_own_exports_and_admins_all(world: ExportWorld) -> None:
    from audit.access import window_of

    world.request("csv")
    other, admin = make_member(world.tenant, "auditor"), make_member(world.tenant, "platform_admin")
    assert not exports_for(window_of(other, world.tenant)).exists()
    assert exports_for(window_of(admin, world.tenant)).exists()
    assert exports_for(world.window).exists()


def test_one_person_can_not_fill_the_queue(world: ExportWorld) -> None:
    for _ in range(5):
        world.request("csv")
    with pytest.raises(ContextOSError, match=r"export\.too_many"):
        world.request("csv")


def test_progress_grows_and_is_whole_only_at_the_end(world: ExportWorld) -> None:
    job = world.request("jsonl")
    assert progress_of(job) == 0.0
    job.first, job.last = "rec_1jhjm2nc9px5t63s6bzhej4x0d", "rec_1jhjmvsn1r73w21j1gjn5nyrzq"
    job.cursor = job.last
    assert 0.9 < progress_of(job) < 1
    run_export(job.pk)
    job.refresh_from_db()
    assert progress_of(job) == 1.0


def _grant(world: ExportWorld, **data: Any) -> None:
    terms = Terms(
        starts_at=utcnow() - timedelta(days=1), ends_at=utcnow() + timedelta(days=1), **data
    )
    grant_access(
        user=world.auditor, tenant_id=world.tenant.pk, terms=terms, actor=SYSTEM, reason="audit"
    )
