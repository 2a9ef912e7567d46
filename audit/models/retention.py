"""How long each class of records is kept, and what was purged when its time was over."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from django.db import models

FLOOR_DAYS = 184  # the log duty of the EU AI Act, Art. 19 and 26(6): at least six months
MOST_DAYS = 36_525


class RecordClass(models.TextChoices):
    """What is kept for a time of its own."""

    GATED_RECORD = "record.gated", "Records of decisions that people had to approve"
    OTHER_RECORD = "record.other", "Records of all other decisions"
    GATED_VALUE = "value.gated", "Values of decisions that people had to approve"
    OTHER_VALUE = "value.other", "Values of all other decisions"
    EVIDENCE = "evidence", "Values of evidence"
    EVENT = "event", "Events: votes, changes, exports"


ONE_YEAR, SEVEN_YEARS = 365, 2557
DEFAULT_DAYS: Mapping[RecordClass, int] = MappingProxyType(
    {
        RecordClass.GATED_RECORD: SEVEN_YEARS,
        RecordClass.OTHER_RECORD: ONE_YEAR,
        RecordClass.GATED_VALUE: SEVEN_YEARS,
        RecordClass.OTHER_VALUE: ONE_YEAR,
        RecordClass.EVIDENCE: SEVEN_YEARS,
        RecordClass.EVENT: SEVEN_YEARS,
    }
)


class RetentionRule(models.Model):
    """One version of how long a tenant keeps a class; the newest is in force, older ones stay."""

    append_only: ClassVar[bool] = True

    tenant_id = models.CharField(max_length=64)
    record_class = models.CharField(max_length=16, choices=RecordClass)
    version = models.PositiveIntegerField()
    days = models.PositiveIntegerField()
    reason = models.CharField(max_length=500)
    changed_by = models.CharField(max_length=150)
    changed_by_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        default_permissions = ("view", "change")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant_id", "record_class", "version"], name="retention_version_once"
            ),
            models.CheckConstraint(
                name="retention_not_under_floor",
                condition=models.Q(days__gte=FLOOR_DAYS, days__lte=MOST_DAYS),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.record_class} {self.days} days"


class GatedDecision(models.Model):
    """Marks a decision that had to be approved at a gate, so that it is kept as such."""

    append_only: ClassVar[bool] = True

    decision_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    gate = models.CharField(max_length=200)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.decision_id


class Purge(models.Model):
    """One purge: its event is a leaf of the log and commits to every tombstone by `leaves_hash`."""

    append_only: ClassVar[bool] = True

    purge_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    record_class = models.CharField(max_length=16, choices=RecordClass)
    days = models.PositiveIntegerField()
    rule_version = models.PositiveIntegerField(help_text="0 is the default of the product.")
    cutoff = models.DateTimeField()
    leaves = models.PositiveIntegerField()
    leaves_hash = models.CharField(max_length=71)
    event_id = models.CharField(max_length=40)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-purge_id"]
        default_permissions = ("view",)
        indexes = [models.Index(fields=["tenant_id", "-purge_id"], name="purge_by_tenant")]

    def __str__(self) -> str:
        return self.purge_id


class PurgedLeaf(models.Model):
    """A tombstone: the row is gone, its leaf hash stays. Only a row with one may be deleted."""

    append_only: ClassVar[bool] = True

    leaf_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    purge_id = models.CharField(max_length=40, db_index=True)
    decision_id = models.CharField(max_length=40, blank=True, db_index=True)
    leaf_hash = models.BinaryField(max_length=32)
    created_at = models.DateTimeField(help_text="When the purged row was written.")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.leaf_id
