"""Checking the log in the background: asked for by a person, carried out by a worker (E2)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from audit.models import CheckState, LogCheck
from audit.models.log_checks import OPEN_CHECKS
from audit.services import record_event
from audit.verifying.findings import Report
from audit.verifying.log import verify_tenant
from audit.verifying.walk import Part
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor, automation
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority

log = structlog.get_logger(__name__)
ACTOR = automation("log checks")
LEASE = timedelta(seconds=120)  # a block takes far less; who says nothing for so long is gone
MOST_ATTEMPTS = 3
KEPT_FINDINGS = 20
_TELL_SECONDS = 0.5


def request_check(
    *, tenant_id: str, first: int = 0, last: int | None = None, actor: Actor
) -> LogCheck:
    """Have a tenant's log read by a worker; one at a time, as each reads all there is."""
    require_authority(actor, tenant_id)
    if first < 0 or (last is not None and last <= first):
        raise coded_error("log.range_invalid", message="The range ends before it begins.")
    try:
        with transaction.atomic():
            return _asked(tenant_id, first, last, actor)
    except IntegrityError as taken:
        raise coded_error("log.check_running") from taken


def _asked(tenant_id: str, first: int, last: int | None, actor: Actor) -> LogCheck:
    check = LogCheck.objects.create(
        check_id=new_id("chk"),
        tenant_id=tenant_id,
        first=first,
        last=last,
        requested_by=actor.id,
        requested_by_name=actor.display[:150],
        created_at=utcnow(),
    )
    _tell(check, "requested", actor, {"first": first, "last": last})
    return check


def run_due_checks() -> int:
    """Read the logs that somebody wants to have read; how many."""
    done = 0
    for check_id in list(_due().values_list("pk", flat=True)[:20]):
        check = _taken(check_id)
        if check is not None:
            _run(check)
            done += 1
    return done


def _due() -> QuerySet[LogCheck]:
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=utcnow())
    return LogCheck.objects.filter(free, state__in=OPEN_CHECKS).order_by("check_id")


def _taken(check_id: str) -> LogCheck | None:
    now = utcnow()
    changed = (
        _due()
        .filter(pk=check_id)
        .update(
            state=CheckState.RUNNING,
            lease_until=now + LEASE,
            attempts=F("attempts") + 1,
            started_at=now,
            done=0,
        )
    )
    return LogCheck.objects.get(pk=check_id) if changed else None


def _run(check: LogCheck) -> None:
    if check.attempts > MOST_ATTEMPTS:
        _end(check, CheckState.FAILED, fault="Its workers were lost again and again.")
        return
    try:
        report = verify_tenant(
            check.tenant_id,
            outside=Path(settings.CHECKPOINTS_DIR),
            part=Part(check.first, check.last),
            progress=_progress(check),
        )
    except Exception:
        log.exception("a check of the log broke off", check_id=check.pk)
        _end(
            check, CheckState.FAILED, fault="The log could not be read; the server's log says why."
        )
        return
    _keep(check, report)


def _progress(check: LogCheck) -> Callable[[int, int], None]:
    told = [0.0]

    def progress(done: int, total: int) -> None:
        if time.monotonic() - told[0] >= _TELL_SECONDS or done == total:
            told[0] = time.monotonic()
            _mine(check).update(done=done, total=total, lease_until=utcnow() + LEASE)

    return progress


def _keep(check: LogCheck, report: Report) -> None:
    _end(
        check,
        CheckState.DONE,
        done=report.checked,
        total=report.checked,
        tree_size=report.tree_size,
        checkpoints=report.checkpoints,
        outside=report.outside,
        purged=report.purged,
        findings=[str(finding)[:500] for finding in report.findings[:KEPT_FINDINGS]],
        found=len(report.findings),
        first_bad_index=report.first_bad_index,
    )


def _end(check: LogCheck, state: CheckState, **columns: object) -> None:
    with transaction.atomic():
        ended = {"state": state, "finished_at": utcnow(), "lease_until": None, **columns}
        if _mine(check).update(**ended):
            check.refresh_from_db()
            facts = {"leaves": check.done, "tree_size": check.tree_size, "found": check.found}
            _tell(check, "ended", ACTOR, {"state": str(state), **facts})


def _mine(check: LogCheck) -> QuerySet[LogCheck]:
    return LogCheck.objects.filter(pk=check.pk, state=CheckState.RUNNING, attempts=check.attempts)


def _tell(check: LogCheck, what: str, actor: Actor, data: dict[str, object]) -> None:
    record_event(
        tenant_id=check.tenant_id,
        action=f"audit.log_check.{what}",
        actor=actor,
        subject_kind="log_check",
        subject_id=check.pk,
        data=data,
    )
