"""Where a review stands for one person: how many said yes, and whether they may still decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

from django.db.models import QuerySet

from contextos.identity.access import roles_of
from contextos.identity.models import User
from contextos.identity.roles import in_words, ordered
from contextos.review.kinds import ReviewKind
from contextos.review.models import ReviewedVersion, ReviewEntry
from contextos.review.states import Verdict, VersionState

V = TypeVar("V", bound=ReviewedVersion)


@dataclass(frozen=True, slots=True)
class Standing:
    """`refusal` is why this person can't decide, in words; empty means that they may."""

    given: int
    needed: int
    refusal: str

    @property
    def may_decide(self) -> bool:
        """Whether the buttons are for this person."""
        return not self.refusal

    @property
    def progress(self) -> str:
        """As in '1 of 2 approvals'."""
        noun = "approval" if self.needed == 1 else "approvals"
        return f"{self.given} of {self.needed} {noun}"


def standing_of(kind: ReviewKind[V], version: V, user: User) -> Standing:
    """The same questions that the services ask, answered before anybody presses a button."""
    return Standing(
        approvals_of(kind, version), version.reviewers_needed, _refusal(kind, version, user)
    )


def approvals_of(kind: ReviewKind[V], version: V) -> int:
    """How many people said yes."""
    return _entries(kind, version).filter(verdict=Verdict.APPROVE).count()


def _entries(kind: ReviewKind[V], version: V) -> QuerySet[ReviewEntry]:
    rows: Any = kind.entry_model._default_manager  # `version` is added by concrete classes
    return cast("QuerySet[ReviewEntry]", rows.filter(version=version))


def _refusal(kind: ReviewKind[V], version: V, user: User) -> str:
    if version.state != VersionState.IN_REVIEW:
        return f"This version is not in review: it is {version.get_state_display().lower()}."
    if kind.reviewer_roles.isdisjoint(roles_of(user, version.tenant_id)):
        roles = " or ".join(in_words(role) for role in ordered(kind.reviewer_roles))
        return f"Deciding needs the role {roles} in this tenant."
    if user.pk == version.author_id or user.user_id in version.editors:
        return (
            "You wrote on this version, so somebody else has to decide on it. "
            "You can answer in the thread below."
        )
    mine = _entries(kind, version).filter(reviewer=user)
    if mine.exclude(verdict=Verdict.COMMENT).exists():
        return "You have decided on this version already; it needs another person now."
    return ""
