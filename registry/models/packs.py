"""Context Packs: reviewed, signed versions, and what reviewers said of them."""

from __future__ import annotations

from django.db import models

from contextos.review.document_versions import DocumentVersion
from contextos.review.models import ReviewEntry
from contextos.review.states import VersionState


class ContextPackVersion(DocumentVersion):
    """One version of a Context Pack: which capabilities exist for the runs that carry it."""

    id_column = "pack_id"
    payload_type = "application/vnd.contextos.context-pack+json"

    pack_id = models.CharField(max_length=200)
    intents = models.JSONField(default=list, help_text="What runs may be opened for with it.")
    permission_count = models.PositiveIntegerField(default=0)

    class Meta(DocumentVersion.Meta):
        verbose_name = "Context Pack"
        permissions = [
            ("submit_contextpackversion", "Can submit a Context Pack for review"),
            ("review_contextpackversion", "Can review a Context Pack that others wrote"),
            ("publish_contextpackversion", "Can publish an approved Context Pack"),
            ("retire_contextpackversion", "Can retire a Context Pack"),
        ]
        constraints = [
            *DocumentVersion.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "pack_id", "version"], name="pack_version_number_once"
            ),
            models.UniqueConstraint(
                fields=["tenant", "pack_id"],
                condition=models.Q(state=VersionState.PUBLISHED),
                name="one_active_version_per_pack",
            ),
        ]
        indexes = [models.Index(fields=["tenant", "state"], name="pack_version_by_state")]


class PackReview(ReviewEntry):
    """What a person said about a version of a Context Pack."""

    version = models.ForeignKey(
        ContextPackVersion, on_delete=models.PROTECT, related_name="reviews"
    )

    class Meta(ReviewEntry.Meta):
        pass
