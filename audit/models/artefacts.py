"""Documents by their content, exactly as signed."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Artefact(models.Model):
    """A document by its content: manifests, packs, policy bundles, gates, exactly as signed."""

    append_only: ClassVar[bool] = True

    tenant_id = models.CharField(max_length=64)
    digest = models.CharField(max_length=71)
    media_type = models.CharField(max_length=200)
    content = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "digest"], name="artefact_once_per_tenant")
        ]

    def __str__(self) -> str:
        return self.digest
