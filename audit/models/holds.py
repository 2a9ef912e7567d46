"""Legal holds: what nobody may erase or purge until two people have let go of it."""

from __future__ import annotations

from django.db import models


class LegalHold(models.Model):
    """A hold over decisions of a tenant, without an end date.

    Triggers let only the columns of its release change, once; what it covers stays as placed.
    """

    hold_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    reason = models.CharField(max_length=1000)
    decision_id = models.CharField(max_length=40, blank=True)
    run_id = models.CharField(max_length=40, blank=True)
    user_id = models.CharField(max_length=150, blank=True)
    agent_id = models.CharField(max_length=150, blank=True)
    capability_id = models.CharField(max_length=200, blank=True)
    since = models.DateTimeField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    placed_by = models.CharField(max_length=150)
    placed_by_name = models.CharField(max_length=150, blank=True)
    placed_at = models.DateTimeField()
    proposed_by = models.CharField(max_length=150, blank=True)
    proposed_by_name = models.CharField(max_length=150, blank=True)
    proposed_at = models.DateTimeField(null=True)
    proposed_why = models.CharField(max_length=1000, blank=True)
    released_by = models.CharField(max_length=150, blank=True)
    released_by_name = models.CharField(max_length=150, blank=True)
    released_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-hold_id"]
        default_permissions = ("view", "add")
        permissions = [("release_legalhold", "Can propose and confirm the release of a hold")]
        constraints = [
            models.CheckConstraint(
                name="hold_released_by_two",
                condition=models.Q(released_at__isnull=True, released_by="")
                | (
                    models.Q(released_at__isnull=False, proposed_at__isnull=False)
                    & ~models.Q(released_by="")
                    & ~models.Q(proposed_by="")
                    & ~models.Q(released_by=models.F("proposed_by"))
                ),
            )
        ]
        indexes = [
            models.Index(
                fields=["tenant_id"],
                condition=models.Q(released_at__isnull=True),
                name="hold_open",
            )
        ]

    def __str__(self) -> str:
        return self.title or self.hold_id
