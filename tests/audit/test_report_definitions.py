"""Reports that come by themselves: their periods, once across processes, a link and no value."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from audit.export.calendar import next_run, period_before
from audit.export.report_mail import send_report_links
from audit.export.reports import ReportTerms, define_report, run_due_reports, run_report
from audit.export.runner import run_due_exports
from audit.models import AuditEvent, ExportJob, ReportDefinition, ReportNotice, ReportRun
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.identity.models import Membership, User
from tests.audit.export_world import ExportWorld, make_export_world
from tests.factories import make_member
from tests.identity.signed_in import browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def world() -> ExportWorld:
    made = make_export_world()
    made.record(created_at=utcnow() - timedelta(days=1), intent="secret-intent")
    User.objects.filter(pk=made.auditor.pk).update(email="auditor@example.test")
    return made


def _defined(world: ExportWorld, **more: Any) -> ReportDefinition:
    terms = {"name": "Refunds", "format": "csv", "cadence": "daily", **more}
    return define_report(tenant_id=world.tenant.pk, terms=ReportTerms(**terms), actor=world.actor)


def _due(row: ReportDefinition) -> datetime:
    assert row.next_run_at is not None
    return row.next_run_at + timedelta(minutes=1)


# --- periods --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cadence", "zone", "begins", "ends"),
    [
        ("daily", "UTC", "2026-03-29T00:00", "2026-03-30T00:00"),
        ("daily", "Europe/Berlin", "2026-03-28T23:00", "2026-03-29T22:00"),  # a day of 23 hours
        ("daily", "Asia/Kolkata", "2026-03-28T18:30", "2026-03-29T18:30"),
        ("weekly", "UTC", "2026-03-23T00:00", "2026-03-30T00:00"),
        ("monthly", "UTC", "2026-02-01T00:00", "2026-03-01T00:00"),
        ("monthly", "Europe/Berlin", "2026-01-31T23:00", "2026-02-28T23:00"),
    ],
)
def test_a_period_is_whole_as_its_time_zone_counts(
    cadence: str, zone: str, begins: str, ends: str
) -> None:
    now = datetime(2026, 3, 30, 6, 0, tzinfo=UTC)
    found = period_before(now, cadence, zone)
    assert [moment.strftime("%Y-%m-%dT%H:%M") for moment in found] == [begins, ends]


@pytest.mark.parametrize(
    ("cadence", "due"),
    [
        ("daily", "2026-03-31T04:00"),
        ("weekly", "2026-04-06T04:00"),
        ("monthly", "2026-04-01T04:00"),
    ],
)
def test_the_next_run_is_at_its_hour_there(cadence: str, due: str) -> None:
    now = datetime(2026, 3, 30, 6, 0, tzinfo=UTC)
    assert next_run(now, cadence, "Europe/Berlin", 6).strftime("%Y-%m-%dT%H:%M") == due


# --- runs -----------------------------------------------------------------------------------------
@pytest.mark.proves("E3")
def test_a_due_report_is_written_once_and_its_readers_get_a_link_without_values(
    world: ExportWorld,
) -> None:
    reader = make_member(world.tenant, "auditor")
    User.objects.filter(pk=reader.pk).update(email="reader@example.test")
    row = _defined(world, readers=[reader.username])
    assert run_due_reports() == 0
    later = _due(row)
    assert run_due_reports(later) == 1
    assert run_due_reports(later) == 0
    job = ExportJob.objects.get()
    assert (job.title, job.report_id) == ("Refunds", row.pk)
    assert set(job.filter) == {"from", "to"}
    assert send_report_links(later) == 0, "not before it is written"
    run_due_exports()
    assert send_report_links(later + timedelta(minutes=5)) == 2
    assert send_report_links(later + timedelta(hours=5)) == 0
    assert {message.to[0] for message in mail.outbox} == {
        "auditor@example.test",
        "reader@example.test",
    }
    for message in mail.outbox:
        assert f"/admin/audit/exportjob/{job.pk}/" in message.body
        assert "secret-intent" not in message.body
        assert not message.attachments
    browser = browser_of(reader, world.tenant)
    assert browser.get(reverse("admin:audit_exportjob_download", args=[job.pk])).status_code == 200
    actions = AuditEvent.objects.filter(subject_kind="report").values_list("action", flat=True)
    assert set(actions) == {"audit.report.defined", "audit.report.run"}


def test_of_two_processes_one_takes_a_due_report(world: ExportWorld) -> None:
    row = _defined(world)
    later = _due(row)
    stale = ReportDefinition.objects.get()
    assert run_due_reports(later) == 1
    from audit.export import reports

    assert not reports._run_if_first(stale, later)
    assert ReportRun.objects.count() == 1


def test_a_report_whose_owner_lost_the_access_stops_and_says_so(world: ExportWorld) -> None:
    row = _defined(world)
    Membership.objects.filter(user=world.auditor).update(valid_until=utcnow())
    assert run_due_reports(_due(row)) == 0
    row.refresh_from_db()
    assert not row.is_active
    assert row.stopped_because
    assert AuditEvent.objects.filter(action="audit.report.stopped").count() == 1
    assert not ExportJob.objects.exists()


def test_a_report_that_could_not_be_written_is_told_of_too(world: ExportWorld) -> None:
    row = _defined(world)
    run_report(tenant_id=world.tenant.pk, report_id=row.pk, actor=world.actor)
    ExportJob.objects.update(state="failed", finished_at=utcnow(), error_code="export.failed")
    assert send_report_links() == 1
    assert "could not be written" in mail.outbox[0].body


def test_a_reader_without_address_is_noted(world: ExportWorld) -> None:
    reader = make_member(world.tenant, "auditor")
    row = _defined(world, readers=[reader.username])
    run_report(tenant_id=world.tenant.pk, report_id=row.pk, actor=world.actor)
    run_due_exports()
    assert send_report_links() == 1
    assert ReportNotice.objects.get(user_id=reader.user_id).last_error.endswith("e-mail address.")


def test_a_sampled_report_prints_its_seed(world: ExportWorld) -> None:
    row = _defined(world, sample_size=1)
    run_report(tenant_id=world.tenant.pk, report_id=row.pk, actor=world.actor)
    job = ExportJob.objects.get()
    assert job.sample is not None
    assert job.sample["size"] == 1
    assert len(job.sample["seed"]) == 16


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"format": "docx"}, "export.format_unknown"),
        ({"filter": {"colour": "red"}}, "records.filter_invalid"),
        ({"filter": {"from": "2026-01-01"}}, "report.period_twice"),
        ({"time_zone": "Mars/Olympus"}, "report.time_zone_unknown"),
        ({"readers": ["nobody"]}, "report.reader_unknown"),
        ({"sample_size": 0}, "export.sample_invalid"),
        ({"name": "  "}, "report.name_taken"),
    ],
)
def test_terms_of_no_sense_are_refused(
    world: ExportWorld, terms: dict[str, Any], code: str
) -> None:
    with pytest.raises(ContextOSError) as refused:
        _defined(world, **terms)
    assert refused.value.code == code


# --- pages ----------------------------------------------------------------------------------------
@pytest.fixture
def browser(world: ExportWorld) -> Client:
    return browser_of(world.auditor, world.tenant)


def test_a_report_is_defined_changed_and_run_on_its_pages(
    world: ExportWorld, browser: Client
) -> None:
    sent = {
        "name": "Refunds over time",
        "format": "csv",
        "question": "capability=payments.issue_refund&status=APPROVED",
        "cadence": "weekly",
        "hour": "7",
        "time_zone": "Europe/Berlin",
        "people": world.auditor.username,
        "is_active": "on",
    }
    assert browser.post(reverse("admin:audit_reportdefinition_add"), sent).status_code == 302
    row = ReportDefinition.objects.get()
    assert row.filter == {"capability": "payments.issue_refund", "status": "APPROVED"}
    page = reverse("admin:audit_reportdefinition_change", args=[row.pk])
    assert b"Write it now" in browser.get(page).content
    assert browser.post(page, {**sent, "cadence": "daily"}).status_code == 302
    refused = browser.post(page, {**sent, "time_zone": "Mars"})
    assert b"no such time zone" in refused.content
    ran = browser.post(reverse("admin:audit_reportdefinition_run", args=[row.pk]))
    assert ran["Location"] == reverse(
        "admin:audit_exportjob_change", args=[ExportJob.objects.get().pk]
    )
    row.refresh_from_db()
    assert row.cadence == "daily"
    listed = browser.get(reverse("admin:audit_reportdefinition_changelist"))
    assert b"Refunds over time" in listed.content


def test_the_list_reads_the_newest_files_of_all_reports_at_once(world: ExportWorld) -> None:
    browser = browser_of(make_member(world.tenant, "operator"), world.tenant)

    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            page = browser.get("/admin/audit/reportdefinition/")
        assert ExportJob.objects.order_by("-pk").values_list("pk", flat=True)[0] in page.text
        return len(asked)

    def with_a_file(name: str) -> None:
        row = _defined(world, name=name)
        run_report(tenant_id=world.tenant.pk, report_id=row.pk, actor=world.actor)

    with_a_file("First")
    statements()  # the first page of a session reads more
    one = statements()
    with_a_file("Second")
    with_a_file("Third")
    assert statements() == one
