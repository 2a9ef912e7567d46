"""An export is written only by who holds its lease; every step is a compare-and-set."""

from __future__ import annotations

import os
import threading
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from audit.export.states import EXPORTS, OPEN, ExportState
from audit.models import ExportJob
from contextos.core.clock import utcnow

# A batch takes a second or two; a worker that was not heard of for this long is gone.
LEASE = timedelta(seconds=90)
MOST_LOSSES = 4


class LeaseLostError(Exception):
    """Somebody cancelled the export, or another worker took it over: stop, change nothing."""


def worker_name() -> str:
    """Who holds a lease: this thread of this process."""
    return f"{os.uname().nodename}:{os.getpid()}:{threading.get_ident()}"[:100]


def due_exports(now: datetime) -> QuerySet[ExportJob]:
    """What a worker should take up now, longest waiting first."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    return ExportJob.objects.filter(free, state__in=OPEN).order_by("export_id")


def take_lease(export_id: str) -> ExportJob | None:
    """Become the one worker of an export; None when somebody else is, or it has ended."""
    now = utcnow()
    rows = due_exports(now).filter(pk=export_id, state__in=EXPORTS.sources_of(ExportState.RUNNING))
    taken = {
        "state": ExportState.RUNNING,
        "worker": worker_name(),
        "attempts": F("attempts") + 1,
        "lease_until": now + LEASE,
    }
    # A lease that ran out was not given back: its worker is lost.
    if not rows.filter(lease_until__isnull=True).update(**taken) and not rows.filter(
        lease_until__lt=now
    ).update(**taken, losses=F("losses") + 1):
        return None
    ExportJob.objects.filter(pk=export_id, started_at__isnull=True).update(started_at=now)
    return ExportJob.objects.get(pk=export_id)


def held_from(now: datetime) -> dict[str, Any]:
    """The columns of a row whose first attempt is made by this thread."""
    return {
        "state": ExportState.RUNNING,
        "worker": worker_name(),
        "attempts": 1,
        "started_at": now,
        "lease_until": now + LEASE,
    }


def keep_lease(job: ExportJob, **progress: Any) -> None:
    """Say that the work goes on, and how far it came."""
    changed = mine(job).update(lease_until=utcnow() + LEASE, **progress)
    if not changed:
        raise LeaseLostError
    for name, value in progress.items():
        setattr(job, name, value)


def try_later(job: ExportJob, *, seconds: float) -> None:
    """Let another attempt begin after a pause; this one counts as lost."""
    mine(job).update(lease_until=utcnow() + timedelta(seconds=seconds))


def give_back(job: ExportJob) -> None:
    """Let any worker go on at once, because this one was asked to stop."""
    mine(job).update(lease_until=None)


def mine(job: ExportJob) -> QuerySet[ExportJob]:
    """The row, while this attempt is the one that writes it."""
    return ExportJob.objects.filter(
        pk=job.pk, state=ExportState.RUNNING, attempts=job.attempts, worker=job.worker
    )
