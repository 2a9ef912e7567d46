"""Quarantines: a capability rests because its adapter no longer matches what was reviewed."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant
from registry.models.adapters import AdapterVersion


class Quarantine(models.Model):
    """One capability of one version, out of use until somebody has looked."""

    quarantine_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    version = models.ForeignKey(AdapterVersion, on_delete=models.PROTECT, related_name="+")
    capability_id = models.CharField(max_length=200)
    reason = models.TextField()
    opened_by = models.CharField(max_length=150)
    opened_at = models.DateTimeField()
    released_by = models.CharField(max_length=150, blank=True)
    released_at = models.DateTimeField(null=True, blank=True)
    release_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-opened_at", "quarantine_id"]
        permissions = [("release_quarantine", "Can release a capability from quarantine")]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "capability_id"],
                condition=models.Q(released_at__isnull=True),
                name="one_open_quarantine_per_capability",
            )
        ]

    def __str__(self) -> str:
        return self.capability_id
