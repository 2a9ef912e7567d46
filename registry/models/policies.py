"""Policy bundles: reviewed, signed versions, and what reviewers said of them."""

from __future__ import annotations

from django.db import models

from contextos.review.document_versions import DocumentVersion
from contextos.review.models import ReviewEntry
from contextos.review.states import VersionState


class PolicyBundleVersion(DocumentVersion):
    """One version of a policy bundle; in shadow it is asked and recorded, and decides nothing."""

    id_column = "bundle_id"
    payload_type = "application/vnd.contextos.policy-bundle+json"

    bundle_id = models.CharField(max_length=200)
    priority = models.IntegerField(default=0)
    rule_count = models.PositiveIntegerField(default=0)
    test_count = models.PositiveIntegerField(default=0)
    shadow = models.BooleanField(
        default=False, help_text="Asked and recorded beside the others, without any effect."
    )

    class Meta(DocumentVersion.Meta):
        verbose_name = "policy bundle"
        permissions = [
            ("submit_policybundleversion", "Can submit a policy bundle for review"),
            ("review_policybundleversion", "Can review a policy bundle that others wrote"),
            ("publish_policybundleversion", "Can publish an approved policy bundle"),
            ("retire_policybundleversion", "Can retire a policy bundle"),
        ]
        constraints = [
            *DocumentVersion.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "bundle_id", "version"], name="bundle_version_number_once"
            ),
            # The one that decides, and at most one that watches beside it.
            models.UniqueConstraint(
                fields=["tenant", "bundle_id", "shadow"],
                condition=models.Q(state=VersionState.PUBLISHED),
                name="one_active_version_per_bundle",
            ),
        ]
        indexes = [models.Index(fields=["tenant", "state"], name="bundle_version_by_state")]


class PolicyReview(ReviewEntry):
    """What a person said about a version of a policy bundle."""

    version = models.ForeignKey(
        PolicyBundleVersion, on_delete=models.PROTECT, related_name="reviews"
    )

    class Meta(ReviewEntry.Meta):
        pass
