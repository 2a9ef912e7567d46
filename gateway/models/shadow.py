"""What policies in shadow would have decided otherwise."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class ShadowVerdict(models.Model):
    """One call on which a watching bundle differs from what was decided."""

    verdict_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    bundle_ref = models.CharField(max_length=200)
    decision_id = models.CharField(max_length=40)
    capability_id = models.CharField(max_length=200)
    decided = models.JSONField()
    would_decide = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-verdict_id"]
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["tenant", "bundle_ref", "-verdict_id"], name="shadow_by_bundle")
        ]

    def __str__(self) -> str:
        return f"{self.bundle_ref} on {self.decision_id}"
