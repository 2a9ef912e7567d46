"""Asking for exports, stopping them, fetching their files, removing these: each is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from audit.access import Window
from audit.export import files
from audit.export.base import Totals
from audit.export.columns import read_columns
from audit.export.formats import WRITERS
from audit.export.leases import LEASE, LeaseLostError, held_from, mine
from audit.export.sampling import read_sample
from audit.export.standing import STANDING_FORMATS
from audit.export.states import ENDED, EXPORTS, OPEN, ExportState
from audit.export.windows import narrowed, require_within
from audit.models import ExportJob, ExportReader
from audit.record_filter import read_filter
from audit.reports.catalogue import standing_report
from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor, automation
from contextos.core.ids import new_id

WAITING_AT_ONCE = 5
WORKER = automation("exports")
_REMOVED_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What somebody asks for, as it was sent; the service reads it."""

    format: str
    filter: Mapping[str, Any]
    columns: Sequence[Any] = ()
    sample: Any = None
    title: str = ""
    report_id: str = ""
    standing: str = ""  # key of a standing report, for its table instead of records
    readers: Sequence[str] = ()
    held: bool = False  # this process writes it itself, no worker is to take it


@transaction.atomic
def request_export(
    *, tenant_id: str, request: ExportRequest, actor: Actor, window: Window
) -> ExportJob:
    """Queue an export; the file is written in the background, within the window of who asks."""
    _require_form(request)
    _refuse_too_many(tenant_id, actor)
    wanted, now = narrowed(read_filter(request.filter), window), utcnow()
    job = ExportJob.objects.create(
        export_id=new_id("exp"),
        tenant_id=tenant_id,
        title=request.title[:200],
        report_id=request.report_id,
        standing=request.standing,
        format=request.format,
        filter=wanted.as_given(),
        columns=list(read_columns(request.columns)),
        sample=read_sample(request.sample),
        requested_by_kind=actor.kind,
        requested_by=actor.id,
        requested_by_name=actor.display[:150],
        created_at=now,
        expires_at=now + timedelta(days=settings.EXPORT_DAYS),
        **(held_from(now) if request.held else {}),
    )
    readers = sorted({actor.id, *request.readers})
    ExportReader.objects.bulk_create(ExportReader(export=job, user_id=each) for each in readers)
    _tell(job, "requested", actor, **_asked(job))
    return job


@transaction.atomic
def cancel_export(
    *, tenant_id: str, export_id: str, actor: Actor, window: Window | None = None
) -> ExportJob:
    """Stop an export that has not ended; its worker notices with its next batch."""
    job = find_export(tenant_id=tenant_id, export_id=export_id, window=window)
    rows = ExportJob.objects.filter(pk=job.pk, state__in=OPEN)
    if not rows.update(state=ExportState.CANCELLED, finished_at=utcnow()):
        EXPORTS.check(job.state, ExportState.CANCELLED)
        raise coded_error("state.transition_refused")  # it ended between the two statements
    _tell(job, "cancelled", actor)
    job.refresh_from_db()
    return job


@transaction.atomic
def open_download(
    *, tenant_id: str, export_id: str, actor: Actor, window: Window
) -> tuple[ExportJob, Path]:
    """The whole file of a finished export; who fetched it is recorded before a byte is sent."""
    job = find_export(tenant_id=tenant_id, export_id=export_id, window=window)
    require_within(job, window)
    if job.state != ExportState.DONE:
        raise coded_error("export.not_ready", data={"state": job.state})
    if not job.has_file or job.expires_at <= utcnow():
        raise coded_error("export.expired")
    path = files.path_of(job)
    _tell(job, "downloaded", actor, format=job.format, sha256=job.sha256)
    return job, path


def exports_for(window: Window) -> QuerySet[ExportJob]:
    """What a person may see: auditors their own and what was made for them, others all."""
    rows = ExportJob.objects.filter(tenant_id=window.tenant_id)
    if not window.is_auditor:
        return rows
    reading = ExportReader.objects.filter(user_id=window.user_id).values("export_id")
    return rows.filter(pk__in=reading)


def find_export(*, tenant_id: str, export_id: str, window: Window | None = None) -> ExportJob:
    """An export that this person may see; any other does not exist."""
    rows = ExportJob.objects.filter(tenant_id=tenant_id)
    found = (exports_for(window) if window else rows).filter(pk=export_id).first()
    if found is None:
        raise coded_error("request.not_found")
    return found


# --- what the worker reports ----------------------------------------------------------------------
@transaction.atomic
def finish_export(
    job: ExportJob, *, totals: Totals, file_name: str, size_bytes: int, sha256: str
) -> None:
    """The file is whole and has its name: from now on it is offered."""
    facts = {"rows": totals.rows, "size_bytes": size_bytes, "sha256": sha256}
    changed = mine(job).update(
        state=ExportState.DONE,
        finished_at=utcnow(),
        lease_until=None,
        file_name=file_name,
        missing=totals.missing,
        **facts,
    )
    if not changed:
        raise LeaseLostError
    _tell(job, "done", WORKER, **_asked(job), **facts, missing=totals.missing)


@transaction.atomic
def fail_export(job: ExportJob, fault: ContextOSError) -> None:
    """It can't be written; the reason stands in the row."""
    changed = mine(job).update(
        state=ExportState.FAILED,
        finished_at=utcnow(),
        lease_until=None,
        error_code=fault.code,
        error_text=f"{fault.message} {fault.remediation}"[:300],
    )
    if changed:
        _tell(job, "failed", WORKER, code=fault.code)


def remove_expired(now: datetime | None = None) -> int:
    """Drop files past their day and parts of exports that ended; how many files."""
    moment = now or utcnow()
    old = ExportJob.objects.filter(
        state=ExportState.DONE, removed_at__isnull=True, expires_at__lte=moment
    )
    removed = sum(remove_export(job) for job in old.order_by("expires_at")[:_REMOVED_AT_ONCE])
    _remove_abandoned(moment)
    files.remove_strays(older_than=moment - timedelta(days=settings.EXPORT_DAYS + 1))
    return removed


def _remove_abandoned(moment: datetime) -> None:
    """Parts of exports that ended without their worker: it was killed, and then they were cancelled
    or written by another. One that still runs notices within a lease."""
    ended = ExportJob.objects.filter(
        pk__in=files.with_parts(), state__in=ENDED, finished_at__lt=moment - 2 * LEASE
    )
    for export_id in ended.values_list("pk", flat=True):
        files.remove_parts(export_id)


def remove_export(job: ExportJob) -> bool:
    """Drop the file of one export; the row and its hash stay."""
    with transaction.atomic():
        rows = ExportJob.objects.filter(pk=job.pk, removed_at__isnull=True)
        changed = bool(rows.update(removed_at=utcnow()))
        if changed:
            _tell(job, "removed", WORKER)
    files.remove_file(job)
    files.remove_parts(job.pk)
    return changed


# --- parts ----------------------------------------------------------------------------------------
def _require_form(request: ExportRequest) -> None:
    known = STANDING_FORMATS if request.standing else WRITERS
    if request.format not in known:
        raise coded_error("export.format_unknown", data={"known": sorted(known)})
    if request.standing:
        standing_report(request.standing)
        if not (request.filter.get("from") and request.filter.get("to")):
            raise coded_error("export.report_period")


def _refuse_too_many(tenant_id: str, actor: Actor) -> None:
    waiting = ExportJob.objects.filter(
        tenant_id=tenant_id, requested_by=actor.id, state__in=OPEN
    ).values_list("pk", flat=True)
    if len(waiting[:WAITING_AT_ONCE]) >= WAITING_AT_ONCE:
        raise coded_error("export.too_many", retry_after_ms=30_000)


def _asked(job: ExportJob) -> dict[str, Any]:
    said = {"format": job.format, "filter": job.filter, "sample": job.sample, "title": job.title}
    return {**said, "report": job.standing} if job.standing else said


def _tell(job: ExportJob, what: str, actor: Actor, **data: Any) -> None:
    record_event(
        tenant_id=job.tenant_id,
        action=f"audit.export.{what}",
        actor=actor,
        subject_kind="export",
        subject_id=job.pk,
        data=data,
    )
