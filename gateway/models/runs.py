"""Runs: who acts for whom, for what, within which budget, on which pinned versions."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class Run(models.Model):
    """One RunContext. `document` is the object callers see; the columns are what SQL needs."""

    run_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    agent_id = models.CharField(max_length=150)
    user_id = models.CharField(max_length=150, blank=True)
    intent = models.CharField(max_length=200)
    environment = models.CharField(max_length=16)
    safety_mode = models.CharField(max_length=16)
    trace_id = models.CharField(max_length=32)
    salt = models.BinaryField(max_length=32, help_text="Keys the loop guard's digests.")
    document = models.JSONField()
    packs = models.JSONField(help_text="[{ref, digest}] of the Context Packs of this run.")
    pins = models.JSONField(help_text="{adapter_id: version} as of the opening.")
    max_calls = models.PositiveIntegerField()
    max_cost_cents = models.PositiveBigIntegerField()
    max_wall_ms = models.PositiveBigIntegerField()
    expires_at = models.DateTimeField()
    used_calls = models.PositiveIntegerField(default=0)
    reserved_cents = models.BigIntegerField(default=0)
    spent_cents = models.BigIntegerField(default=0)
    waited_ms = models.PositiveBigIntegerField(
        default=0, help_text="Time spent waiting for people; it does not count as wall time."
    )
    within_budget = models.BooleanField(
        default=True, help_text="Worked out by each reservation; never false (see the constraint)."
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-run_id"]
        default_permissions = ("view",)
        indexes = [models.Index(fields=["tenant", "-run_id"], name="run_by_tenant")]
        constraints = [
            models.CheckConstraint(
                name="run_calls_within_budget",
                condition=models.Q(used_calls__lte=models.F("max_calls")),
            ),
            models.CheckConstraint(
                name="run_reserves_within_budget", condition=models.Q(within_budget=True)
            ),
            models.CheckConstraint(
                name="run_cost_not_negative",
                condition=models.Q(reserved_cents__gte=0) & models.Q(spent_cents__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return self.run_id
