"""What packs, policies and gates have in common: a number, an owner, what was found in them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from contextos.review.models import ReviewedVersion


class DocumentVersion(ReviewedVersion):
    """One version of a document that goes by an id of its own within the tenant."""

    version = models.CharField(max_length=64, help_text="Semantic version, never used twice.")
    owner_role = models.CharField(max_length=200, blank=True)
    findings = models.JSONField(
        default=list, help_text="What blocks it, and what a reviewer has to accept."
    )
    block_count = models.PositiveIntegerField(default=0)
    warn_count = models.PositiveIntegerField(default=0)

    class Meta(ReviewedVersion.Meta):
        abstract = True
        ordering = ["-created_at", "-version_id"]

    id_column: ClassVar[str]  # holds the id that all versions share
    payload_type: ClassVar[str]  # what the stored and signed bytes are

    def __str__(self) -> str:
        return self.ref

    @property
    def document_id(self) -> str:
        """The id that all versions share."""
        return str(getattr(self, self.id_column))

    @property
    def ref(self) -> str:
        """`id@version`, as runs and records name it."""
        return f"{self.document_id}@{self.version}"
