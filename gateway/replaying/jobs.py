"""Replays of periods as rows: asked for, worked on in slices under a lease, stopped, finished."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Q

from audit.access import Window
from audit.artefacts import read_artefact
from audit.services import record_event
from contextos.core import strict_json
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from gateway.leases import worker_name
from gateway.models import ReplayAgainst, ReplayJob, ReplayState
from gateway.models.replays import OPEN_STATES
from gateway.replaying.batches import AnyTally, ReplayTally, counting, tell
from gateway.replaying.drafts import ManifestDraft, PolicyDraft
from gateway.replaying.loading import recorded_decisions
from gateway.replaying.periods import Period, decisions_in
from gateway.replaying.surroundings import Draft
from gateway.replaying.trials import TrialTally
from registry.models import AdapterVersion, PolicyBundleVersion
from registry.recorded_documents import MOST_BYTES

log = structlog.get_logger(__name__)
MOST_OPEN = 5
SLICE_SECONDS = 20.0
LEASE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class ChosenDraft:
    """A version that a period is tried against, as it stands now."""

    against: ReplayAgainst
    ref: str
    digest: str

    @classmethod
    def policy(cls, *, tenant_id: str, version_id: str) -> ChosenDraft:
        """A version of a policy bundle."""
        rows = PolicyBundleVersion.objects.filter(tenant_id=tenant_id, pk=version_id)
        version = rows.first()
        if version is None:
            raise coded_error("replay.unknown_draft")
        return cls(ReplayAgainst.POLICY, version.ref, version.digest)

    @classmethod
    def manifest(cls, *, tenant_id: str, version_id: str) -> ChosenDraft:
        """A version of an adapter."""
        rows = AdapterVersion.objects.filter(tenant_id=tenant_id, pk=version_id)
        version = rows.select_related("adapter").first()
        if version is None:
            raise coded_error("replay.unknown_draft")
        ref = f"{version.adapter.adapter_id}@{version.version}"
        return cls(ReplayAgainst.MANIFEST, ref, version.digest)


@transaction.atomic
def start_job(
    *,
    tenant_id: str,
    period: Period,
    actor: Actor,
    draft: ChosenDraft | None = None,
    window: Window | None = None,
) -> ReplayJob:
    """Ask for a period; a draft is read and compiled here, so that its faults are told at once."""
    require_authority(actor, tenant_id)
    if window is not None:
        window.require(period.since)
        window.require(period.until - timedelta(microseconds=1))
    if draft is not None:
        read_draft(tenant_id=tenant_id, against=draft.against, digest=draft.digest)
    if ReplayJob.objects.filter(tenant_id=tenant_id, state__in=OPEN_STATES).count() >= MOST_OPEN:
        raise coded_error("replay.too_many_jobs")
    job = ReplayJob.objects.create(
        job_id=new_id("rpj"),
        tenant_id=tenant_id,
        against=draft.against if draft else ReplayAgainst.RECORD,
        draft_ref=draft.ref if draft else "",
        draft_digest=draft.digest if draft else "",
        since=period.since,
        until=period.until,
        asked_by=actor.id,
        asked_by_name=actor.display[:200],
        created_at=utcnow(),
    )
    _told(job, actor, "replay_job.started")
    return job


@transaction.atomic
def cancel_job(*, tenant_id: str, job_id: str, actor: Actor) -> ReplayJob:
    """Stop the work; what was counted so far stays."""
    require_authority(actor, tenant_id)
    rows = ReplayJob.objects.filter(tenant_id=tenant_id, pk=job_id)
    ended = rows.filter(state__in=OPEN_STATES).update(
        state=ReplayState.CANCELLED, finished_at=utcnow(), lease_until=None
    )
    if not ended:
        raise coded_error("replay.already_ended")
    job = rows.get()
    _told(job, actor, "replay_job.cancelled")
    return job


def _told(job: ReplayJob, actor: Actor, action: str) -> None:
    record_event(
        tenant_id=job.tenant_id,
        action=action,
        actor=actor,
        subject_kind="replay_job",
        subject_id=job.pk,
        data={
            "against": job.against,
            "draft": job.draft_ref,
            "draft_digest": job.draft_digest,
            "period": Period(job.since, job.until).words,
            "done": job.done,
        },
    )


def read_draft(*, tenant_id: str, against: str, digest: str) -> Draft | None:
    """The draft as it was when it was chosen; None where a period is held against its record."""
    if against == ReplayAgainst.RECORD:
        return None
    content = read_artefact(tenant_id=tenant_id, digest=digest)
    document: Mapping[str, Any] = strict_json.loads_object(content, max_bytes=MOST_BYTES)
    if against == ReplayAgainst.POLICY:
        return PolicyDraft.of(document)
    return ManifestDraft.of(document, tenant_id=tenant_id)


# --- the work ------------------------------------------------------------------------------------
def work_on_jobs(*, seconds: float = SLICE_SECONDS) -> int:
    """Work on what waits, for a while; how many jobs were taken up."""
    taken, until = 0, time.monotonic() + seconds
    while (job := _lease()) is not None:
        taken += 1
        _work(job, until)
        if time.monotonic() >= until:
            break
    return taken


def _lease() -> ReplayJob | None:
    """The oldest job that nobody works on; the compare-and-set decides between two workers."""
    now = utcnow()
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    for name in _free(free):
        rows = ReplayJob.objects.filter(free, pk=name, state__in=OPEN_STATES)
        if rows.update(state=ReplayState.RUNNING, worker=worker_name(), lease_until=now + LEASE):
            return ReplayJob.objects.get(pk=name)
    return None


def _free(free: Q) -> list[str]:
    rows = ReplayJob.objects.filter(free, state__in=OPEN_STATES).order_by("job_id")
    return list(rows.values_list("pk", flat=True)[:5])


def _work(job: ReplayJob, until: float) -> None:
    """Page by page while the slice lasts; a fault of the job ends the job and no other."""
    try:
        _go_through(job, until)
    except ContextOSError as fault:
        _end(job, ReplayState.FAILED, fault=f"{fault.message} {fault.remediation}"[:500])
    except Exception:
        log.exception("a replay of a period failed", job_id=job.pk)
        _end(job, ReplayState.FAILED, fault="Something went wrong; operators find it in the log.")


def _go_through(job: ReplayJob, until: float) -> None:
    tally = _tally(job)
    draft = read_draft(tenant_id=job.tenant_id, against=job.against, digest=job.draft_digest)
    count = counting(job.tenant_id, draft, tally)
    period = Period(job.since, job.until)
    for page in decisions_in(job.tenant_id, period, after=job.cursor):
        names = [head.decision_id for head in page]
        for decision in recorded_decisions(tenant_id=job.tenant_id, decision_ids=names):
            count(decision)
        job.cursor, job.done = page[-1].record_id, tally.total
        job.share = period.share(page[-1].created_at)
        if not _kept(job, tally):
            return
        if time.monotonic() >= until:
            _held(job).update(state=ReplayState.QUEUED, lease_until=None, worker="")
            return
    _finish(job, tally)


def _tally(job: ReplayJob) -> AnyTally:
    kind = ReplayTally if job.against == ReplayAgainst.RECORD else TrialTally
    return kind.from_dict(job.tally)


def _held(job: ReplayJob) -> Any:
    return ReplayJob.objects.filter(pk=job.pk, state=ReplayState.RUNNING, worker=job.worker)


def _kept(job: ReplayJob, tally: AnyTally) -> bool:
    """False when the job was stopped, or another worker took it over."""
    kept = _held(job).update(
        cursor=job.cursor,
        done=job.done,
        share=job.share,
        tally=tally.as_dict(),
        lease_until=utcnow() + LEASE,
    )
    return bool(kept)


@transaction.atomic
def _finish(job: ReplayJob, tally: AnyTally) -> None:
    if not _end(job, ReplayState.DONE, done=tally.total, share=1.0, tally=tally.as_dict()):
        return
    actor = Actor("user", job.asked_by, job.tenant_id, job.asked_by_name)
    tell(
        tenant_id=job.tenant_id,
        actor=actor,
        period=Period(job.since, job.until),
        tally=tally,
        ref=job.draft_ref,
        job_id=job.pk,
    )


def _end(job: ReplayJob, state: ReplayState, **values: Any) -> bool:
    ended = {"state": state, "finished_at": utcnow(), "lease_until": None, "worker": ""}
    return bool(_held(job).update(**{**ended, **values}))
