"""The lifecycle of one kind of reviewed version, bound to its kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from django.db import transaction

from contextos.core.events import Actor
from contextos.identity.models import User
from contextos.review import services as review
from contextos.review.kinds import ReviewKind
from contextos.review.models import ReviewedVersion

V = TypeVar("V", bound=ReviewedVersion)


class ReviewedLifecycle(Generic[V]):
    """The steps of the shared machinery, each for one kind."""

    def __init__(self, kind: ReviewKind[V]) -> None:
        self.kind = kind

    def submit(self, *, version_id: str, actor: Actor, digest: str | None = None) -> V:
        """Freeze the draft and put it before reviewers."""
        return review.submit(self.kind, version_id=version_id, actor=actor, digest=digest)

    def approve(
        self,
        *,
        version_id: str,
        reviewer: User,
        actor: Actor,
        reason: str,
        accepted_warnings: Iterable[str] = (),
        digest: str | None = None,
    ) -> V:
        """One reviewer's yes, with each warning ticked."""
        return review.approve(
            self.kind,
            version_id=version_id,
            reviewer=reviewer,
            actor=actor,
            reason=reason,
            accepted_warnings=accepted_warnings,
            digest=digest,
        )

    def reject(
        self,
        *,
        version_id: str,
        reviewer: User,
        actor: Actor,
        reason: str,
        digest: str | None = None,
    ) -> V:
        """One reviewer's no ends the review."""
        return review.reject(
            self.kind,
            version_id=version_id,
            reviewer=reviewer,
            actor=actor,
            reason=reason,
            digest=digest,
        )

    def request_changes(
        self,
        *,
        version_id: str,
        reviewer: User,
        actor: Actor,
        reason: str,
        digest: str | None = None,
    ) -> V:
        """Ask for a new version, saying what has to change."""
        return review.request_changes(
            self.kind,
            version_id=version_id,
            reviewer=reviewer,
            actor=actor,
            reason=reason,
            digest=digest,
        )

    def comment(self, *, version_id: str, reviewer: User, actor: Actor, text: str) -> V:
        """Add to the thread of a version."""
        return review.comment(
            self.kind, version_id=version_id, reviewer=reviewer, actor=actor, text=text
        )

    @transaction.atomic
    def publish(self, *, version_id: str, actor: Actor, rollout_notes: str = "") -> V:
        """Sign and activate; the version active until now is deprecated in one go."""
        self.line_up(version_id)
        return review.publish(self.kind, version_id=version_id, actor=actor, notes=rollout_notes)

    @transaction.atomic
    def retire(self, *, version_id: str, actor: Actor, reason: str) -> V:
        """End a version: from the next call on nothing runs on it."""
        self.line_up(version_id)
        return review.retire(self.kind, version_id=version_id, actor=actor, reason=reason)

    def line_up(self, version_id: str) -> None:
        """What has to be locked before the rows of a version that becomes active or ends."""
