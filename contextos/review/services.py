"""The mutations of a review, the same for every kind of document: check, lock, change, record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.access import roles_of
from contextos.identity.actors import require_authority
from contextos.identity.models import User
from contextos.review.kinds import Obstacle, ReviewKind
from contextos.review.models import ReviewedVersion
from contextos.review.signatures import open_signed, sign_document, type_for_tenant
from contextos.review.states import LIFECYCLE, Verdict, VersionState

V = TypeVar("V", bound=ReviewedVersion)


@transaction.atomic
def submit(kind: ReviewKind[V], *, version_id: str, actor: Actor, digest: str | None = None) -> V:
    """Freeze a draft and put it before reviewers; blocking findings stop it here."""
    version = _locked(kind, version_id, actor)
    LIFECYCLE.check(version.state, VersionState.IN_REVIEW)
    _require_digest(version, digest)
    obstacles = kind.obstacles(version)
    if obstacles:
        raise coded_error(
            "review.blocked_by_findings",
            message=_in_words(obstacles),
            data={"findings": [obstacle.id for obstacle in obstacles]},
        )
    needed = kind.reviewers_needed(version)
    facts = {"reviewers_needed": needed, **kind.at_submission(version)}
    _move(kind, version, VersionState.IN_REVIEW, submitted_at=timezone.now(), **facts)
    _record(kind, version, "submitted", actor, data={"reviewers_needed": needed})
    if needed == 0:  # a change that only narrows, where the settings let it pass without a person
        _move(kind, version, VersionState.APPROVED, decided_at=timezone.now())
        _record(kind, version, "approved", actor, reason="narrows only: fast path by setting")
    return version


@transaction.atomic
def comment(kind: ReviewKind[V], *, version_id: str, reviewer: User, actor: Actor, text: str) -> V:
    """Add to the thread; changes nothing else."""
    version = _locked(kind, version_id, actor)
    _require_reason(text)
    _enter(kind, version, reviewer, Verdict.COMMENT, text)
    _record(kind, version, "reviewed", actor, reason=text, data={"verdict": Verdict.COMMENT.value})
    return version


@transaction.atomic
def approve(
    kind: ReviewKind[V],
    *,
    version_id: str,
    reviewer: User,
    actor: Actor,
    reason: str,
    accepted_warnings: Iterable[str] = (),
    digest: str | None = None,
) -> V:
    """One person's yes; the version is approved when enough distinct people said it."""
    version = _reviewable(kind, version_id, reviewer, actor, digest)
    _require_reason(reason)
    ticked = _ticked(kind, version, frozenset(accepted_warnings))
    _enter(kind, version, reviewer, Verdict.APPROVE, reason, ticked)
    given = _entries(kind).filter(version=version, verdict=Verdict.APPROVE).count()
    facts = {"verdict": "approve", "given": given, "needed": version.reviewers_needed}
    _record(kind, version, "reviewed", actor, reason=reason, data=facts)
    if given >= version.reviewers_needed:
        _move(kind, version, VersionState.APPROVED, decided_at=timezone.now())
        _record(kind, version, "approved", actor)
    return version


@transaction.atomic
def reject(
    kind: ReviewKind[V],
    *,
    version_id: str,
    reviewer: User,
    actor: Actor,
    reason: str,
    digest: str | None = None,
) -> V:
    """One person's no ends the review."""
    return _refuse(kind, version_id, reviewer, actor, reason, digest, Verdict.REJECT)


@transaction.atomic
def request_changes(
    kind: ReviewKind[V],
    *,
    version_id: str,
    reviewer: User,
    actor: Actor,
    reason: str,
    digest: str | None = None,
) -> V:
    """End this review with a to-do; the author answers with a new version."""
    return _refuse(kind, version_id, reviewer, actor, reason, digest, Verdict.REQUEST_CHANGES)


@transaction.atomic
def publish(kind: ReviewKind[V], *, version_id: str, actor: Actor, notes: str = "") -> V:
    """Sign and activate an approved version; a deprecated one again is a rollback."""
    version = _locked(kind, version_id, actor)
    rollback = version.state == VersionState.DEPRECATED
    LIFECYCLE.check(version.state, VersionState.PUBLISHED)
    envelope = _envelope(kind, version)
    kind.on_publish(version, actor)
    _move(
        kind,
        version,
        VersionState.PUBLISHED,
        envelope=envelope,
        published_at=timezone.now(),
        published_by=actor.id,
        publication_notes=notes.strip(),
        ended_at=None,
    )
    kind.on_signed(version, actor)
    _record(kind, version, "rolled_back" if rollback else "published", actor, reason=notes)
    return version


@transaction.atomic
def deprecate(kind: ReviewKind[V], *, version_id: str, actor: Actor, successor: str) -> V:
    """Let a published version drain; called when its successor is published."""
    version = _locked(kind, version_id, actor)
    _move(kind, version, VersionState.DEPRECATED, ended_at=timezone.now())
    _record(kind, version, "deprecated", actor, data={"successor": successor})
    return version


@transaction.atomic
def retire(kind: ReviewKind[V], *, version_id: str, actor: Actor, reason: str) -> V:
    """End a version for good; nothing runs on it from the next call on."""
    _require_reason(reason)
    version = _locked(kind, version_id, actor)
    _move(kind, version, VersionState.RETIRED, ended_at=timezone.now())
    kind.on_retire(version, actor)
    _record(kind, version, "retired", actor, reason=reason)
    return version


def _locked(kind: ReviewKind[V], version_id: str, actor: Actor) -> V:
    rows = kind.version_model._default_manager.select_for_update(of=("self",))
    version: V | None = rows.filter(pk=version_id).first()
    if version is None:
        raise coded_error("request.not_found", message=f"There is no version {version_id}.")
    require_authority(actor, version.tenant_id)
    return version


def _reviewable(
    kind: ReviewKind[V], version_id: str, reviewer: User, actor: Actor, digest: str | None
) -> V:
    version = _locked(kind, version_id, actor)
    _require_reviewer(kind, version, reviewer, actor)
    if reviewer.pk == version.author_id or reviewer.user_id in version.editors:
        raise coded_error("review.author_cannot_approve")
    if version.state != VersionState.IN_REVIEW:
        LIFECYCLE.check(version.state, VersionState.APPROVED)
    _require_digest(version, digest)
    return version


def _require_digest(version: ReviewedVersion, shown: str | None) -> None:
    if shown is not None and shown != version.digest:
        raise coded_error("review.stale_digest", data={"shown": shown, "current": version.digest})


def _require_reviewer(kind: ReviewKind[V], version: V, reviewer: User, actor: Actor) -> None:
    """The log names the actor, the rules bind the reviewer: they have to be the same person."""
    if (actor.kind, actor.id) != ("user", reviewer.user_id):
        raise coded_error("review.not_reviewer", message="Nobody reviews in another's name.")
    if kind.reviewer_roles.isdisjoint(roles_of(reviewer, version.tenant_id)):
        raise coded_error("review.not_reviewer", data={"roles": sorted(kind.reviewer_roles)})


def _ticked(kind: ReviewKind[V], version: V, accepted: frozenset[str]) -> list[str]:
    """The ids of all warnings, if each was accepted."""
    warnings = kind.warnings(version)
    missing = sorted(tick.id for tick in warnings if accepted.isdisjoint({tick.id, tick.rule}))
    if missing:
        raise coded_error("review.warnings_not_ticked", data={"not_accepted": missing})
    return sorted(tick.id for tick in warnings)


def _envelope(kind: ReviewKind[V], version: V) -> dict[str, Any]:
    """Signed now, or, on a rollback, the first signature checked again."""
    payload_type = type_for_tenant(kind.payload_type, version.tenant_id)
    if version.envelope is None:
        document = kind.document(version)
        return sign_document(document, payload_type=payload_type, purpose=kind.key_purpose)
    open_signed(
        version.envelope,
        digest=version.digest,
        payload_type=payload_type,
        purpose=kind.key_purpose,
    )
    envelope: dict[str, Any] = version.envelope
    return envelope


def _refuse(
    kind: ReviewKind[V],
    version_id: str,
    reviewer: User,
    actor: Actor,
    reason: str,
    digest: str | None,
    verdict: Verdict,
) -> V:
    version = _reviewable(kind, version_id, reviewer, actor, digest)
    _require_reason(reason)
    _enter(kind, version, reviewer, verdict, reason)
    rejected = verdict == Verdict.REJECT
    target = VersionState.REJECTED if rejected else VersionState.CHANGES_REQUESTED
    _move(kind, version, target, decided_at=timezone.now())
    _record(kind, version, target.value, actor, reason=reason)
    return version


def _enter(
    kind: ReviewKind[V],
    version: V,
    reviewer: User,
    verdict: Verdict,
    reason: str,
    ticked: list[str] | None = None,
) -> None:
    try:
        with transaction.atomic():
            _entries(kind).create(
                version=version,
                reviewer=reviewer,
                verdict=verdict,
                reason=reason.strip(),
                accepted_warnings=ticked or [],
                digest=version.digest,
            )
    except IntegrityError as clash:
        raise coded_error("review.already_decided") from clash


def _in_words(obstacles: tuple[Obstacle, ...]) -> str:
    first = "; ".join(obstacle.message.rstrip(".") for obstacle in obstacles[:3])
    if len(obstacles) == 1:
        return f"A blocking finding stops the submission: {first}."
    return f"{len(obstacles)} blocking findings stop the submission, among them: {first}."


def _entries(kind: ReviewKind[V]) -> Any:
    return kind.entry_model._default_manager  # `version` is a column of the concrete class only


def _move(kind: ReviewKind[V], version: V, target: VersionState, **columns: Any) -> None:
    """Compare-and-set: the row lock is PostgreSQL's, this holds on SQLite too."""
    source = version.state
    LIFECYCLE.check(source, target)
    rows = kind.version_model._default_manager.filter(pk=version.pk, state=source)
    if rows.update(state=target, **columns) != 1:
        raise coded_error(
            "state.transition_refused",
            message="Somebody else changed this version at the same moment; load it again.",
        )
    version.state = target
    for name, value in columns.items():
        setattr(version, name, value)


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise coded_error("review.reason_missing")


def _record(
    kind: ReviewKind[V],
    version: V,
    word: str,
    actor: Actor,
    *,
    reason: str = "",
    data: dict[str, Any] | None = None,
) -> None:
    record_event(
        tenant_id=version.tenant_id,
        action=f"{kind.name}.{word}",
        actor=actor,
        subject_kind=kind.name,
        subject_id=version.version_id,
        reason=reason.strip(),
        data={**kind.describe(version), "digest": version.digest, **(data or {})},
    )
