"""Delegation and out-of-office: dated, scoped, never passed on."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from contextos.identity.models import Tenant


class Delegation(models.Model):
    """`stand_in` may vote for `giver` between two moments, at the named gates or at all."""

    delegation_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    giver = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    stand_in = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    gates = models.JSONField(default=list, help_text="Gate ids; empty means all of the giver's.")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=500)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-delegation_id"]
        default_permissions = ("view", "add")
        constraints = [
            models.CheckConstraint(
                name="delegation_ends_after_it_starts",
                condition=models.Q(ends_at__gt=models.F("starts_at")),
            ),
            models.CheckConstraint(
                name="delegation_to_somebody_else",
                condition=~models.Q(giver=models.F("stand_in")),
            ),
        ]
        indexes = [models.Index(fields=["tenant", "stand_in", "ends_at"], name="delegation_now")]

    def __str__(self) -> str:
        return self.delegation_id

    def covers(self, gate_id: str) -> bool:
        """Whether it is about this gate."""
        return not self.gates or gate_id in self.gates
