"""Pictures made from icons that manifests name."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class Icon(models.Model):
    """What came of fetching one address: our own small picture, or why there is none."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    source_digest = models.CharField(max_length=71, help_text="sha256 of the address.")
    digest = models.CharField(max_length=71, blank=True, help_text="sha256 of the picture.")
    picture = models.BinaryField(null=True, blank=True)
    fault = models.CharField(max_length=300, blank=True)
    fetched_at = models.DateTimeField()

    class Meta:
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "source_digest"], name="icon_once_per_address"
            )
        ]
        indexes = [models.Index(fields=["tenant", "digest"], name="icon_by_content")]

    def __str__(self) -> str:
        return self.digest or self.fault
