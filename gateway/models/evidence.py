"""Evidence minted from results: what was seen, where it came from, how fresh it is."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class Evidence(models.Model):
    """One evidence reference. The value itself is a payload, here only by its commitment."""

    evidence_ref = models.CharField(primary_key=True, max_length=40)
    # Several indexes below begin with it.
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    run_id = models.CharField(max_length=40)
    tool_call_id = models.CharField(max_length=40)
    capability_id = models.CharField(max_length=200)
    source = models.CharField(max_length=300)
    keys = models.JSONField(help_text="The evidence keys that the result carried.")
    commitment = models.CharField(max_length=71)
    payload_id = models.CharField(max_length=40)
    classification = models.CharField(max_length=16)
    observed_at = models.DateTimeField()
    size_bytes = models.PositiveBigIntegerField(default=0)
    is_stored = models.BooleanField(default=True, help_text="Or only committed to.")
    fresh_until = models.DateTimeField(null=True, help_text="As its manifest says.")
    mark = models.CharField(
        max_length=71, blank=True, default="", help_text="Equal for the same question; keyed."
    )

    class Meta:
        verbose_name = "piece of evidence"
        verbose_name_plural = "pieces of evidence"
        ordering = ["-evidence_ref"]
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["tenant", "run_id"], name="evidence_by_run"),
            models.Index(fields=["tenant", "-evidence_ref"], name="evidence_by_tenant"),
            models.Index(
                fields=["tenant", "mark", "evidence_ref"],
                condition=~models.Q(mark=""),
                name="evidence_by_mark",
            ),
        ]

    def __str__(self) -> str:
        return self.evidence_ref
