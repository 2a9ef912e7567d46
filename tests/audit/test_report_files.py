"""Standing reports as files: written as every export is, recorded, safe to open (E3)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from audit.export import files
from audit.export.runner import run_due_exports
from audit.export.services import ExportRequest, request_export
from audit.models import AuditEvent, ExportJob
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from tests.audit.export_world import ExportWorld, make_export_world
from tests.identity.signed_in import browser_of

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E3")]
DAY = {"from": "2026-11-01", "to": "2027-11-01"}


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def world() -> ExportWorld:
    made = make_export_world(records=1)
    for title in ("=1+1", "plain"):
        made.request("jsonl", title=title)
    return made


def _written(world: ExportWorld, form: str) -> tuple[ExportJob, Path]:
    job = world.request(form, DAY, standing="exports", title="Exports")
    run_due_exports()
    job.refresh_from_db()
    assert job.state == "done", job.error_text
    return job, files.path_of(job)


def test_a_report_is_a_csv_table_that_no_spreadsheet_takes_for_formulas(
    world: ExportWorld,
) -> None:
    job, path = _written(world, "csv")
    with path.open(encoding="utf-8", newline="") as file:
        titles, *rows = csv.reader(file)
    assert len(rows) == job.rows > 0
    assert all(len(row) == len(titles) for row in rows)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@", "\t"))]
    assert job.sha256 == files.sha256_of(path)


def test_json_lines_say_what_the_report_is_and_what_each_row_rests_on(world: ExportWorld) -> None:
    job, path = _written(world, "jsonl")
    lines: list[Any] = [strict_json.loads(line) for line in path.read_bytes().splitlines()]
    about, *rows = lines
    assert (about["kind"], about["report"], about["rows"]) == ("report", "exports", len(rows))
    assert about["figures"]
    assert job.rows == len(rows) > 0
    known = set(AuditEvent.objects.values_list("event_id", flat=True))
    assert {row["record"]["id"] for row in rows if row["record"]} <= known


def test_it_is_asked_for_on_its_page_and_recorded_as_an_export(world: ExportWorld) -> None:
    browser = browser_of(world.auditor, world.tenant)
    page = browser.get(reverse("admin:audit_report", args=["exports"])).content.decode()
    assert "Take it as CSV" in page
    sent = browser.post(
        reverse("admin:audit_report_export", args=["exports"]),
        {"format": "csv", "since": "2026-11-01", "until": "2026-11-30"},
    )
    job = ExportJob.objects.get(standing="exports")
    assert sent["Location"] == reverse("admin:audit_exportjob_change", args=[job.pk])
    run_due_exports()
    file = browser.get(reverse("admin:audit_exportjob_download", args=[job.pk]))
    assert file["Content-Type"].startswith("text/csv")
    assert b"".join(file.streaming_content)  # type: ignore[attr-defined]
    events = AuditEvent.objects.filter(subject_id=job.pk).order_by("event_id")
    assert [each.action.rpartition(".")[2] for each in events] == [
        *("requested", "done", "downloaded")
    ]
    assert '"report":"exports"' in events[0].text


def test_what_cannot_be_written_is_refused_at_once(world: ExportWorld) -> None:
    for changes, code in (
        ({"standing": "nonsense"}, "report.unknown"),
        ({"format": "bundle"}, "export.format_unknown"),
        ({"filter": {"from": "2026-11-01"}}, "export.report_period"),
    ):
        asked: dict[str, Any] = {"format": "csv", "filter": DAY, "standing": "exports", **changes}
        with pytest.raises(ContextOSError) as refused:
            request_export(
                tenant_id=world.tenant.pk,
                request=ExportRequest(**asked),
                actor=world.actor,
                window=world.window,
            )
        assert refused.value.code == code
