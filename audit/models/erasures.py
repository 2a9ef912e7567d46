"""Erasures that were asked for: what they cover, who wanted them, what stands in the way."""

from __future__ import annotations

from django.db import models


class ErasureState(models.TextChoices):
    """Whether everything it covers is gone."""

    WAITING = "waiting", "Waiting"
    DONE = "done", "Done"


class Erasure(models.Model):
    """One request to erase values; a hold or a running call makes it wait, nothing loses it."""

    erasure_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    selection = models.JSONField(help_text="Which decisions; see audit.selections.")
    reason = models.CharField(max_length=500)
    asked_by = models.CharField(max_length=150)
    asked_by_name = models.CharField(max_length=150, blank=True)
    state = models.CharField(max_length=8, choices=ErasureState, default=ErasureState.WAITING)
    decisions = models.PositiveIntegerField(default=0, help_text="Decisions with values erased.")
    payloads = models.PositiveIntegerField(default=0, help_text="Values erased.")
    held = models.PositiveIntegerField(default=0, help_text="Decisions kept by a legal hold.")
    running = models.PositiveIntegerField(default=0, help_text="Decisions whose call is under way.")
    created_at = models.DateTimeField()
    tried_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-erasure_id"]
        default_permissions = ("view", "add")
        constraints = [
            models.CheckConstraint(
                name="erasure_done_has_time",
                condition=models.Q(state="waiting", done_at__isnull=True)
                | models.Q(state="done", done_at__isnull=False),
            )
        ]
        indexes = [
            models.Index(fields=["tenant_id", "-erasure_id"], name="erasure_by_tenant"),
            models.Index(
                fields=["erasure_id"], condition=models.Q(state="waiting"), name="erasure_waiting"
            ),
        ]

    def __str__(self) -> str:
        return self.erasure_id
