"""Counts of governed calls, rolled up from the records so that boards never read them all (E5)."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class FiguresCursor(models.Model):
    """How far a tenant's log is counted. Whoever moves it on owns the counts of that step."""

    tenant = models.OneToOneField(
        Tenant, primary_key=True, on_delete=models.PROTECT, related_name="+"
    )
    next_index = models.PositiveBigIntegerField(
        default=0, help_text="The first leaf of the tenant's log that is not counted yet."
    )
    turn = models.PositiveBigIntegerField(default=0, help_text="Grows by one with every step.")
    moved_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.next_index}"


class Tally(models.Model):
    """One measure of one capability in one span of time."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    grain = models.PositiveIntegerField(help_text="Length of the span in seconds; 0 is all time.")
    starts_at = models.DateTimeField()
    adapter_id = models.CharField(max_length=100, blank=True)
    capability_id = models.CharField(max_length=200, blank=True)
    measure = models.CharField(max_length=32)
    value = models.BigIntegerField()

    class Meta:
        default_permissions = ()
        constraints = [
            # In the order of reading: a tenant's spans of one length, then what stands in them.
            models.UniqueConstraint(
                fields=[
                    "tenant",
                    "grain",
                    "starts_at",
                    "adapter_id",
                    "capability_id",
                    "measure",
                ],
                name="tally_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.capability_id} {self.measure} {self.value}"


class ReplayAnswer(models.Model):
    """A recorded answer was given again; waits here until it is compared and counted."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    tool_call_id = models.CharField(max_length=40)
    decision_id = models.CharField(max_length=40)
    adapter_id = models.CharField(max_length=100)
    capability_id = models.CharField(max_length=200)
    answered_hash = models.CharField(
        max_length=71, help_text="Of the envelope as it was given, but for output and `replayed`."
    )
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["tenant", "id"], name="replay_by_tenant")]

    def __str__(self) -> str:
        return self.tool_call_id
