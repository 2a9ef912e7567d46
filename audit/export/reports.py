"""Report definitions: written down, changed, run by hand or when due; each run is an export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Max, Q

from audit.access import window_of
from audit.export.calendar import next_run, period_before, require_zone
from audit.export.columns import read_columns
from audit.export.formats import WRITERS
from audit.export.sampling import MOST
from audit.export.services import ExportRequest, request_export
from audit.models import ExportJob, ReportDefinition, ReportNotice, ReportRun
from audit.models.report_definitions import Cadence
from audit.record_filter import read_filter
from audit.services import record_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor, automation
from contextos.core.ids import new_id
from contextos.identity.access import roles_of
from contextos.identity.actors import person
from contextos.identity.models import User

log = structlog.get_logger(__name__)
SCHEDULER = automation("reports")
AT_ONCE = 50
MOST_READERS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTerms:
    """What a report is about, as it was filled in."""

    name: str
    format: str
    filter: Mapping[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ()
    sample_size: int | None = None
    cadence: str = ""
    hour: int = 6
    time_zone: str = "UTC"
    readers: Sequence[str] = ()
    is_active: bool = True


@transaction.atomic
def define_report(*, tenant_id: str, terms: ReportTerms, actor: Actor) -> ReportDefinition:
    """Write a new definition down; it is written with the access of who does this."""
    row = ReportDefinition(
        report_id=new_id("rpt"), tenant_id=tenant_id, created_at=utcnow(), owner=actor.id
    )
    _fill(row, terms, actor)
    _save(row, force_insert=True)
    _tell(row, "defined", actor, **_facts(row))
    return row


@transaction.atomic
def change_report(
    *, tenant_id: str, report_id: str, terms: ReportTerms, actor: Actor
) -> ReportDefinition:
    """Other terms from now on; whoever changes it becomes its owner."""
    row = ReportDefinition.objects.select_for_update().get(tenant_id=tenant_id, pk=report_id)
    _fill(row, terms, actor)
    _save(row)
    _tell(row, "changed", actor, **_facts(row))
    return row


def run_report(*, tenant_id: str, report_id: str, actor: Actor) -> ReportRun:
    """Write it now, about the last whole period, whatever its schedule says."""
    row = ReportDefinition.objects.get(tenant_id=tenant_id, pk=report_id)
    return _run(row, utcnow(), period=f"by hand {format_time(utcnow())}", actor=actor)


def run_due_reports(now: datetime | None = None) -> int:
    """Write whatever is due; of any number of processes one takes each. How many."""
    moment = now or utcnow()
    due = ReportDefinition.objects.filter(is_active=True, next_run_at__lte=moment)
    return sum(_run_if_first(row, moment) for row in due.order_by("next_run_at")[:AT_ONCE])


def _run_if_first(row: ReportDefinition, now: datetime) -> bool:
    try:
        with transaction.atomic():
            if not _taken(row, now):
                return False
            begins, _ = period_before(now, row.cadence, row.time_zone)
            if row.runs.filter(period=format_time(begins)).exists():
                return False  # the clock was set back, or the cadence changed to and fro
            _run(row, now, period=format_time(begins), actor=SCHEDULER)
    except IntegrityError:  # another process writes this very period
        return False
    except ContextOSError as refusal:
        _stop(row, refusal)
        return False
    return True


def _taken(row: ReportDefinition, now: datetime) -> bool:
    """Compare and set: the next due moment moves on once."""
    rows = ReportDefinition.objects.filter(pk=row.pk, is_active=True, next_run_at=row.next_run_at)
    following = next_run(now, row.cadence, row.time_zone, row.hour)
    return bool(rows.update(next_run_at=following))


@transaction.atomic
def _run(row: ReportDefinition, now: datetime, *, period: str, actor: Actor) -> ReportRun:
    owner = User.objects.filter(user_id=row.owner).first()
    if owner is None:
        raise coded_error("role.missing", data={"roles": []})
    window = window_of(owner, row.tenant_id)
    job = request_export(
        tenant_id=row.tenant_id,
        request=_request(row, now),
        actor=person(owner, row.tenant_id),
        window=window,
    )
    run = ReportRun.objects.create(report=row, period=period, export=job, created_at=now)
    people = sorted({row.owner, *row.readers})
    ReportNotice.objects.bulk_create(
        ReportNotice(run=run, user_id=each, due_at=now) for each in people
    )
    _tell(row, "run", actor, export_id=job.pk, period=period)
    return run


def _request(row: ReportDefinition, now: datetime) -> ExportRequest:
    begins, ends = period_before(now, row.cadence or Cadence.DAILY, row.time_zone)
    period = {"from": format_time(begins), "to": format_time(ends)}
    return ExportRequest(
        format=row.format,
        filter={**row.filter, **(period if row.cadence else {})},
        columns=row.columns,
        sample={"size": row.sample_size} if row.sample_size else None,
        title=row.name,
        report_id=row.pk,
        readers=row.readers,
    )


@transaction.atomic
def _stop(row: ReportDefinition, refusal: ContextOSError) -> None:
    """Whoever it is written for may not read it any more: say so instead of failing for ever."""
    if refusal.retryable:
        log.warning("a report will be tried again", report_id=row.pk, code=refusal.code)
        return
    said = f"{refusal.message} {refusal.remediation}"[:300]
    ReportDefinition.objects.filter(pk=row.pk).update(is_active=False, stopped_because=said)
    _tell(row, "stopped", SCHEDULER, code=refusal.code)


# --- parts ----------------------------------------------------------------------------------------
def _fill(row: ReportDefinition, terms: ReportTerms, actor: Actor) -> None:
    if terms.format not in WRITERS:
        raise coded_error("export.format_unknown", data={"known": sorted(WRITERS)})
    wanted = read_filter(terms.filter).as_given()
    if terms.cadence and {"from", "to"} & set(wanted):
        raise coded_error("report.period_twice")
    if terms.sample_size is not None and not 1 <= terms.sample_size <= MOST:
        raise coded_error("export.sample_invalid")
    row.name, row.format, row.filter = terms.name.strip()[:120], terms.format, wanted
    row.columns, row.sample_size = list(read_columns(terms.columns)), terms.sample_size
    row.cadence, row.hour, row.time_zone = terms.cadence, terms.hour, require_zone(terms.time_zone)
    row.readers = _readers(row.tenant_id, terms.readers)
    row.owner, row.owner_name = actor.id, actor.display[:150]
    row.is_active, row.stopped_because = terms.is_active, ""
    row.next_run_at = (
        next_run(utcnow(), row.cadence, row.time_zone, row.hour) if row.cadence else None
    )


def _readers(tenant_id: str, names: Sequence[str]) -> list[str]:
    """People of the tenant by user id or sign-in name; they need the right to read when they do."""
    found = []
    for name in list(dict.fromkeys(names))[:MOST_READERS]:
        user = User.objects.filter(Q(user_id=name) | Q(username=name)).first()
        if user is None or not roles_of(user, tenant_id):
            raise coded_error("report.reader_unknown", data={"reader": name[:150]})
        found.append(user.user_id)
    return sorted(found)


def _save(row: ReportDefinition, **how: Any) -> None:
    if not row.name:
        raise coded_error("report.name_taken", message="A report needs a name.")
    try:
        with transaction.atomic():
            row.save(**how)
    except IntegrityError:
        raise coded_error("report.name_taken") from None


def _facts(row: ReportDefinition) -> dict[str, Any]:
    return {
        "name": row.name,
        "format": row.format,
        "filter": row.filter,
        "cadence": row.cadence,
        "readers": row.readers,
        "is_active": row.is_active,
    }


def _tell(row: ReportDefinition, what: str, actor: Actor, **data: Any) -> None:
    record_event(
        tenant_id=row.tenant_id,
        action=f"audit.report.{what}",
        actor=actor,
        subject_kind="report",
        subject_id=row.pk,
        data=data,
    )


def last_exports(rows: Iterable[ReportDefinition]) -> dict[str, ExportJob]:
    """The newest file of each report that has one, by the report's id."""
    of_these = ReportRun.objects.filter(report__in=[row.pk for row in rows]).order_by()
    newest = of_these.values("report").annotate(newest=Max("pk")).values("newest")
    runs = ReportRun.objects.filter(pk__in=newest).select_related("export")
    return {run.report_id: run.export for run in runs}
