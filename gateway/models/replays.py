"""Replays of whole periods: rows that are worked on in the background, with what came out."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class ReplayAgainst(models.TextChoices):
    """What the decisions of a period are held against."""

    RECORD = "record", "The record itself"
    POLICY = "policy", "A draft of a policy"
    MANIFEST = "manifest", "A draft of a manifest"


class ReplayState(models.TextChoices):
    """Where the work stands."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


OPEN_STATES = (ReplayState.QUEUED, ReplayState.RUNNING)


class ReplayJob(models.Model):
    """One period of one tenant, gone through page by page; a lost worker is gone on from."""

    job_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    against = models.CharField(max_length=12, choices=ReplayAgainst)
    draft_ref = models.CharField(max_length=300, blank=True, help_text="id@version of the draft.")
    draft_digest = models.CharField(
        max_length=71, blank=True, help_text="The draft as it was when this was asked for."
    )
    since = models.DateTimeField()
    until = models.DateTimeField()
    state = models.CharField(max_length=12, choices=ReplayState, default=ReplayState.QUEUED)
    asked_by = models.CharField(max_length=150)
    asked_by_name = models.CharField(max_length=200)
    cursor = models.CharField(max_length=40, blank=True, help_text="The last row that was done.")
    done = models.PositiveIntegerField(default=0)
    share = models.FloatField(default=0.0, help_text="How far into the period.")
    tally = models.JSONField(default=dict)
    fault = models.CharField(max_length=500, blank=True)
    worker = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "replay of a period"
        verbose_name_plural = "replays of periods"
        ordering = ["-job_id"]
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(
                name="replay_job_state_known", condition=models.Q(state__in=ReplayState.values)
            ),
            models.CheckConstraint(
                name="replay_job_period_forward", condition=models.Q(since__lt=models.F("until"))
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "-job_id"], name="replay_job_by_tenant"),
            models.Index(
                fields=["lease_until"],
                condition=models.Q(state__in=["queued", "running"]),
                name="replay_job_open",
            ),
        ]

    def __str__(self) -> str:
        return self.job_id
