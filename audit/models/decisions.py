"""DecisionRecords: heads to search by, bodies that hold the canonical text."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class DecisionRow(models.Model):
    """Head of one DecisionRecord row: what lists and filters need, derived from the stored text."""

    append_only: ClassVar[bool] = True

    record_id = models.CharField(primary_key=True, max_length=40)
    decision_id = models.CharField(max_length=40)
    seq = models.PositiveIntegerField()
    tenant_id = models.CharField(max_length=64)
    run_id = models.CharField(max_length=40)
    trace_id = models.CharField(max_length=32)
    intent = models.CharField(max_length=200)
    status = models.CharField(max_length=12)
    outcome = models.CharField(max_length=12)
    capability_id = models.CharField(max_length=200)
    mode_effective = models.CharField(max_length=16)
    adapter_id = models.CharField(max_length=100)
    error_code = models.CharField(max_length=100)
    agent_id = models.CharField(max_length=150)
    user_id = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    leaf_hash = models.BinaryField(max_length=32)

    class Meta:
        ordering = ["-record_id"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["decision_id", "seq"], name="decision_seq_once"),
            models.UniqueConstraint(
                fields=["decision_id"],
                condition=models.Q(
                    status__in=["EXECUTED", "FAILED", "REJECTED", "EXPIRED", "CANCELLED"]
                ),
                name="one_terminal_row_per_decision",
            ),
        ]
        # Ids grow, and an index grows best at its end: read backwards it gives the newest first.
        indexes = [
            # On PostgreSQL it carries every filtered column (audit.search_index): any combination
            # of filters is then answered from this one index.
            models.Index(fields=["tenant_id", "record_id"], name="decision_by_tenant"),
            models.Index(
                fields=["tenant_id", "capability_id", "record_id"], name="decision_by_capability"
            ),
            models.Index(fields=["run_id"], name="decision_by_run"),
            models.Index(fields=["trace_id"], name="decision_by_trace"),
            models.Index(
                fields=["tenant_id", "user_id", "record_id"],
                condition=~models.Q(user_id=""),
                name="decision_by_user",
            ),
            models.Index(
                fields=["tenant_id", "error_code", "record_id"],
                condition=~models.Q(error_code=""),
                name="decision_by_error",
            ),
            # Of the usual statuses there are too many to be worth an index.
            models.Index(
                fields=["tenant_id", "status", "record_id"],
                condition=~models.Q(status__in=["PROPOSED", "APPROVED", "EXECUTED"]),
                name="decision_by_rare_status",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision_id}#{self.seq} {self.status}"


class DecisionBody(models.Model):
    """The canonical text of one row; monthly partitions on PostgreSQL make retention a detach."""

    append_only: ClassVar[bool] = True

    record_id = models.CharField(primary_key=True, max_length=40)
    created_at = models.DateTimeField()
    text = models.TextField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.record_id


class DecisionMention(models.Model):
    """Who approved, which gate, which rule: what one row says of others, derived from its text."""

    append_only: ClassVar[bool] = True

    pk = models.CompositePrimaryKey("tenant_id", "kind", "value", "record_id")
    tenant_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=8)
    value = models.CharField(max_length=200)
    record_id = models.CharField(max_length=40)

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["record_id"], name="mention_by_record")]  # for purges

    def __str__(self) -> str:
        return f"{self.kind} {self.value} in {self.record_id}"


class DecisionAmount(models.Model):
    """The amount a decision was about, to be searched by; no part of the record, and erasable."""

    decision_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    amount = models.DecimalField(max_digits=20, decimal_places=2)
    unit = models.CharField(max_length=16, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["tenant_id", "amount"], name="decision_by_amount")]

    def __str__(self) -> str:
        return f"{self.amount} {self.unit}".strip()
