"""Pages of exports: asked for from a search, followed, cancelled, fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.export.runner import run_due_exports
from audit.models import AuditEvent, ExportJob
from tests.audit.export_world import ExportWorld, make_export_world, texts_of
from tests.factories import make_member
from tests.identity.signed_in import browser_of
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def world() -> ExportWorld:
    return ready(make_export_world, records=3)


@pytest.fixture
def browser(world: ExportWorld) -> Client:
    return browser_of(world.auditor, world.tenant)


def _url(page: str, job: ExportJob | None = None) -> str:
    return reverse(f"admin:audit_exportjob_{page}", args=[job.pk] if job else [])


@pytest.mark.proves("E3")
def test_an_auditor_exports_what_a_search_found_and_fetches_it(
    world: ExportWorld, browser: Client
) -> None:
    asked = {"status": "APPROVED", "user": "user_1"}
    page = browser.get(reverse("admin:audit_export_new"), asked)
    assert page.status_code == 200
    assert b"APPROVED" in page.content
    sent = browser.post(_url("add"), {**asked, "format": "jsonl", "title": "Q3 <b>"})
    job = ExportJob.objects.get()
    assert sent["Location"] == _url("change", job)
    assert job.filter == asked
    watched = browser.get(_url("change", job))
    assert b"data-watch-export" in watched.content
    assert b"Q3 &lt;b&gt;" in watched.content
    assert browser.get(_url("progress", job)).json() == {"state": "queued", "percent": 0, "rows": 0}
    run_due_exports()
    done = browser.get(_url("change", job))
    job.refresh_from_db()
    assert job.sha256.encode() in done.content
    file = browser.get(_url("download", job))
    assert b"".join(file.streaming_content).decode().splitlines() == texts_of(world.tenant.pk)  # type: ignore[attr-defined]
    assert AuditEvent.objects.filter(action="audit.export.downloaded").count() == 1
    assert b"Q3" in browser.get(_url("changelist")).content


def test_a_refused_form_keeps_the_filter_and_says_why(browser: Client) -> None:
    page = browser.post(_url("add"), {"format": "csv", "from": "never"})
    assert page.status_code == 422
    assert b"2026-01-31" in page.content
    assert browser.post(_url("add"), {"format": "docx"}).status_code == 422
    assert not ExportJob.objects.exists()


def test_an_export_is_cancelled_by_a_button_not_by_a_link(
    world: ExportWorld, browser: Client
) -> None:
    job = world.request("csv")
    assert browser.get(_url("cancel", job)).status_code == 405
    assert browser.post(_url("cancel", job)).status_code == 302
    job.refresh_from_db()
    assert job.state == "cancelled"
    early = browser.get(_url("download", job), follow=True)
    assert b"has no file" in early.content


def test_pages_belong_to_who_asked_and_to_admins(world: ExportWorld, browser: Client) -> None:
    job, _ = world.export("csv", title="Mine alone")
    other = browser_of(make_member(world.tenant, "auditor"), world.tenant)
    admin = browser_of(make_member(world.tenant, "platform_admin"), world.tenant)
    approver = browser_of(make_member(world.tenant, "finance_approver"), world.tenant)
    for page in ("change", "progress", "download"):
        assert other.get(_url(page, job)).status_code == 404
        assert admin.get(_url(page, job)).status_code == 200
        assert approver.get(_url(page, job)).status_code == 403
    assert b"Mine alone" not in other.get(_url("changelist")).content
    assert b"Nothing was exported yet" in other.get(_url("changelist")).content


def test_an_empty_a_failed_and_a_removed_export_say_so(world: ExportWorld, browser: Client) -> None:
    empty, _ = world.export("csv", {"user": "nobody"})
    assert b"No record matches the filter" in browser.get(_url("change", empty)).content
    ExportJob.objects.filter(pk=empty.pk).update(removed_at=empty.created_at)
    assert b"File removed" in browser.get(_url("change", empty)).content
    broken = world.request("csv")
    ExportJob.objects.filter(pk=broken.pk).update(
        state="failed",
        finished_at=empty.created_at,
        error_code="export.not_sealed",
        error_text="The sealer \u202e rests.",
    )
    shown = browser.get(_url("change", broken)).content.decode()
    assert "export.not_sealed" in shown
    assert "\u202e" not in shown
