"""The life of a reviewed version, as data."""

from __future__ import annotations

from django.db import models

from contextos.core.states import TransitionTable


class VersionState(models.TextChoices):
    """Where a version stands. What was submitted is never edited: an edit is a new version."""

    DRAFT = "draft", "Draft"
    IN_REVIEW = "in_review", "In review"
    CHANGES_REQUESTED = "changes_requested", "Changes requested"
    REJECTED = "rejected", "Rejected"
    APPROVED = "approved", "Approved"
    PUBLISHED = "published", "Published"
    DEPRECATED = "deprecated", "Deprecated"
    RETIRED = "retired", "Retired"


LIFECYCLE = TransitionTable(
    "version",
    initial=VersionState.DRAFT,
    transitions={
        VersionState.DRAFT: [VersionState.IN_REVIEW, VersionState.RETIRED],
        VersionState.IN_REVIEW: [
            VersionState.APPROVED,
            VersionState.REJECTED,
            VersionState.CHANGES_REQUESTED,
        ],
        VersionState.APPROVED: [VersionState.PUBLISHED, VersionState.RETIRED],
        VersionState.PUBLISHED: [VersionState.DEPRECATED, VersionState.RETIRED],
        # Publishing a deprecated version again is a rollback.
        VersionState.DEPRECATED: [VersionState.PUBLISHED, VersionState.RETIRED],
    },
    terminal=[VersionState.REJECTED, VersionState.CHANGES_REQUESTED, VersionState.RETIRED],
)

# States in which a version has been signed and may still carry running work.
SIGNED = (VersionState.PUBLISHED, VersionState.DEPRECATED)


class Verdict(models.TextChoices):
    """What a reviewer said."""

    APPROVE = "approve", "Approved"
    REJECT = "reject", "Rejected"
    REQUEST_CHANGES = "request_changes", "Asked for changes"
    COMMENT = "comment", "Commented"
