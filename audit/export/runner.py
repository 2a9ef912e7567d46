"""Writes an export from beginning to end, or onward from where an earlier worker was cut off."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import structlog

from audit.export import files
from audit.export.base import Cover, Totals, Writer
from audit.export.formats import WRITERS
from audit.export.leases import (
    MOST_LOSSES,
    LeaseLostError,
    due_exports,
    give_back,
    keep_lease,
    take_lease,
    try_later,
)
from audit.export.sampling import Sampled
from audit.export.selection import Block, Selection
from audit.export.services import fail_export, finish_export
from audit.export.standing import write_standing
from audit.export.windows import window_to_write
from audit.models import ExportJob
from audit.record_filter import read_filter
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import parse_id
from contextos.ending import is_ending
from contextos.identity.models import Tenant

log = structlog.get_logger(__name__)
_PAUSE_SECONDS = 5.0
_SETTLED_SECONDS = 2.0  # a record is written by one statement, within milliseconds
Pulse = Callable[[ExportJob], None]


class _AskedToStopError(Exception):
    """The process ends; what is settled waits for the next worker."""


def _no_pulse(job: ExportJob) -> None:
    """Nobody watches."""


def run_due_exports() -> int:
    """Work on what waits, one after the other; how many were taken up."""
    taken = 0
    tried: set[str] = set()
    while not is_ending() and (export_id := _next(tried)) is not None:
        tried.add(export_id)
        taken += run_export(export_id)
    return taken


def _next(tried: set[str]) -> str | None:
    ids = due_exports(utcnow()).values_list("export_id", flat=True)
    return next((each for each in ids[: len(tried) + 1] if each not in tried), None)


def run_export(export_id: str) -> bool:
    """Write one export if it is free; whether this process did."""
    job = take_lease(export_id)
    if job is None:
        return False
    try:
        _write(job, _no_pulse)
    except LeaseLostError:
        log.info("export was cancelled or taken over", export_id=job.pk)
        files.part_path(job).unlink(missing_ok=True)
    except _AskedToStopError:
        give_back(job)
    except ContextOSError as fault:
        _failed(job, fault)
    except Exception:
        log.exception("an export failed", export_id=job.pk, attempt=job.attempts)
        if job.losses >= MOST_LOSSES:
            _failed(job, coded_error("export.failed"))
        else:
            try_later(job, seconds=_PAUSE_SECONDS * (job.losses + 1))
    return True


def run_held(job: ExportJob, *, pulse: Pulse) -> ExportJob:
    """Write an export that this process holds already; what goes wrong is raised."""
    try:
        _write(job, pulse)
    except ContextOSError as fault:
        _failed(job, fault)
        raise
    except BaseException:
        _failed(job, coded_error("export.failed"))
        raise
    job.refresh_from_db()
    return job


def _failed(job: ExportJob, fault: ContextOSError) -> None:
    fail_export(job, fault)
    files.remove_parts(job.pk)


def _write(job: ExportJob, pulse: Pulse) -> None:
    if job.losses > MOST_LOSSES:
        raise coded_error("export.worker_lost", data={"losses": job.losses})
    part = files.part_path(job)
    if job.standing:
        window_to_write(job)
        _offer(job, part, job.format, Totals(rows=write_standing(job, part)))
        return
    selection = _settled_selection(job)
    totals = Totals(rows=job.rows, missing=job.missing)
    writer = _writer(job, part, selection, totals)
    try:
        if job.sample:
            drawn = Sampled(selection, **job.sample)
            _write_sample(job, writer, drawn, totals, pulse)
        else:
            _write_all(job, writer, selection, totals, pulse)
        writer.close(totals)
    except BaseException:
        writer.abandon()
        raise
    _offer(job, part, writer.extension, totals)


def _offer(job: ExportJob, part: Path, extension: str, totals: Totals) -> None:
    """From here on the file is there: whole, hashed, under its own name."""
    keep_lease(job)
    name = files.final_name(job, extension)
    size, sha256 = files.publish(part, name)
    finish_export(job, totals=totals, file_name=name, size_bytes=size, sha256=sha256)
    files.remove_parts(job.pk)


def _settled_selection(job: ExportJob) -> Selection:
    """The same records at every attempt: what was recorded later is not part of it."""
    wanted, window = read_filter(job.filter), window_to_write(job)
    if not job.last:
        first, last = Selection(wanted, window).bounds()
        keep_lease(job, first=first, last=last)
    return Selection(wanted, window, job.last, is_empty=not job.last)


def _writer(job: ExportJob, part: Path, selection: Selection, totals: Totals) -> Writer:
    kind = WRITERS[job.format]
    resumed = kind.resumable and bool(job.cursor) and files.take_over(job, part)
    if not resumed and job.cursor:
        totals.rows = totals.missing = 0
        keep_lease(job, cursor="", position=0, rows=0, missing=0)
    return kind(part, cover_of(job, selection), pulse=lambda: keep_lease(job), resumed=resumed)


def _write_all(
    job: ExportJob, writer: Writer, selection: Selection, totals: Totals, pulse: Pulse
) -> None:
    cursor: str | None = job.cursor
    while cursor is not None:
        start, cursor = cursor, None
        # Closed at once when something goes wrong: the database still sends rows until then.
        with closing(selection.batch(after=start)) as blocks:
            for block in blocks:
                cursor = block.last
                _add(writer, block, totals)
        if cursor is not None:
            _report(job, writer, totals, cursor)
            pulse(job)


def _write_sample(
    job: ExportJob, writer: Writer, drawn: Sampled, totals: Totals, pulse: Pulse
) -> None:
    time.sleep(_unsettled_seconds(job, utcnow()))
    totals.population = drawn.draw(lambda: keep_lease(job))
    with closing(drawn.blocks()) as blocks:
        for block in blocks:
            _add(writer, block, totals)
    _report(job, writer, totals, job.last)
    pulse(job)


def _unsettled_seconds(job: ExportJob, now: datetime) -> float:
    """How long records older than the last one may still come: an id is made before its row is
    committed. One that came after the draw would make the bundle count more than was drawn from."""
    if not job.last:
        return 0.0
    return max(0.0, _SETTLED_SECONDS - (now - parse_id(job.last).created_at).total_seconds())


def _add(writer: Writer, block: Block, totals: Totals) -> None:
    writer.add_block(block)
    totals.missing += block.missing
    totals.rows += len(block.ids)


def _report(job: ExportJob, writer: Writer, totals: Totals, cursor: str) -> None:
    position = writer.settle()
    keep_lease(job, cursor=cursor, position=position, rows=totals.rows, missing=totals.missing)
    if is_ending():
        raise _AskedToStopError


def cover_of(job: ExportJob, selection: Selection) -> Cover:
    """What the file says about itself."""
    tenant = Tenant.objects.filter(pk=job.tenant_id).first()
    return Cover(
        export_id=job.pk,
        tenant_id=job.tenant_id,
        tenant_name=tenant.name if tenant else job.tenant_id,
        title=job.title or "Decision records",
        wanted=job.filter,
        requested_by=job.requested_by_name,
        requested_at=job.created_at,
        columns=job.columns,
        sample=job.sample,
        selection=selection,
    )
