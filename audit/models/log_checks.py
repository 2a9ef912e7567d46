"""Checks of the log that somebody asked for on a page: the row is the job and its result."""

from __future__ import annotations

from django.db import models


class CheckState(models.TextChoices):
    """How far a check is; whether the log was as signed is another question."""

    QUEUED = "queued", "Waiting for a worker"
    RUNNING = "running", "Being read"
    DONE = "done", "Read to the end"
    FAILED = "failed", "Broke off"


OPEN_CHECKS = (CheckState.QUEUED, CheckState.RUNNING)


class LogCheck(models.Model):
    """One reading of a tenant's log, or of a part of it, against everything that was signed."""

    check_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    first = models.BigIntegerField(default=0, help_text="First index that is read in full.")
    last = models.BigIntegerField(null=True, help_text="The index behind the last; null: the end.")
    state = models.CharField(max_length=8, choices=CheckState, default=CheckState.QUEUED)
    requested_by = models.CharField(max_length=150)
    requested_by_name = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    done = models.BigIntegerField(default=0, help_text="Leaves read so far.")
    total = models.BigIntegerField(default=0, help_text="Leaves to be read.")
    tree_size = models.BigIntegerField(default=0)
    checkpoints = models.BigIntegerField(default=0)
    outside = models.BigIntegerField(default=0)
    purged = models.BigIntegerField(default=0)
    findings = models.JSONField(default=list, help_text="The first of them, in words.")
    found = models.PositiveIntegerField(default=0, help_text="How many there were.")
    first_bad_index = models.BigIntegerField(null=True)
    fault = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-check_id"]
        default_permissions = ("add", "view")
        constraints = [
            models.CheckConstraint(
                name="log_check_state_known", condition=models.Q(state__in=CheckState.values)
            ),
            models.UniqueConstraint(
                fields=["tenant_id"],
                condition=models.Q(state__in=OPEN_CHECKS),
                name="one_open_log_check",
            ),
        ]
        indexes = [models.Index(fields=["tenant_id", "-check_id"], name="log_check_by_tenant")]

    def __str__(self) -> str:
        return f"{self.check_id} {self.state}"

    @property
    def is_open(self) -> bool:
        """Whether it still goes on."""
        return self.state in OPEN_CHECKS

    @property
    def is_sound(self) -> bool:
        """Whether all that was read is as it was signed."""
        return self.state == CheckState.DONE and not self.found

    @property
    def percent(self) -> int:
        """How far it is."""
        return min(99, self.done * 100 // self.total) if self.total else 0
