"""Kill switches: one row stops an adapter, a version, a capability or a whole tenant."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class KillScope(models.TextChoices):
    """How much a switch stops."""

    ADAPTER = "adapter", "Adapter"
    VERSION = "version", "Version"
    CAPABILITY = "capability", "Capability"
    TENANT = "tenant", "Whole tenant"


class KillSwitch(models.Model):
    """Thrown with a reason, effective on the next call; lifting it is recorded too."""

    switch_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="kill_switches")
    scope = models.CharField(max_length=12, choices=KillScope)
    target_id = models.CharField(max_length=200)
    reason = models.TextField()
    thrown_by = models.CharField(max_length=150)
    thrown_at = models.DateTimeField()
    lifted_by = models.CharField(max_length=150, blank=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    lift_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-thrown_at", "switch_id"]
        verbose_name_plural = "kill switches"
        permissions = [("lift_killswitch", "Can lift a kill switch")]
        constraints = [
            models.CheckConstraint(
                name="kill_scope_known", condition=models.Q(scope__in=KillScope.values)
            ),
            models.UniqueConstraint(
                fields=["tenant", "scope", "target_id"],
                condition=models.Q(lifted_at__isnull=True),
                name="one_thrown_switch_per_target",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_scope_display()} {self.target_id}"

    @property
    def is_thrown(self) -> bool:
        """Whether it stops calls now."""
        return self.lifted_at is None
