"""Tables of the log. The canonical text is the truth; every other column is derived from it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class AuditEvent(models.Model):
    """One thing somebody did (a vote, a grant, an export ...); append-only by database triggers.

    No foreign keys: the row outlives what it describes. `text` is the canonical record that becomes
    a leaf of the tenant's log, byte for byte; `leaf_hash` is SHA-256(0x00 || text) as in RFC 6962.
    """

    append_only: ClassVar[bool] = True  # audit.append_only checks that the triggers stand

    event_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    action = models.CharField(max_length=100)
    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=150)
    subject_kind = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    text = models.TextField()
    leaf_hash = models.BinaryField(max_length=32)

    class Meta:
        verbose_name = "event"
        ordering = ["-event_id"]
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["tenant_id", "-event_id"], name="event_by_tenant"),
            models.Index(fields=["tenant_id", "action", "-event_id"], name="event_by_action"),
            models.Index(
                fields=["tenant_id", "subject_kind", "subject_id", "-event_id"],
                name="event_by_subject",
            ),
            models.Index(fields=["tenant_id", "actor_id", "-event_id"], name="event_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject_kind} {self.subject_id}"


class Artefact(models.Model):
    """A document by its content: manifests, packs, policy bundles, gates, exactly as signed."""

    append_only: ClassVar[bool] = True

    tenant_id = models.CharField(max_length=64)
    digest = models.CharField(max_length=71)
    media_type = models.CharField(max_length=200)
    content = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "digest"], name="artefact_once_per_tenant")
        ]

    def __str__(self) -> str:
        return self.digest


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
        indexes = [
            models.Index(fields=["tenant_id", "-record_id"], name="decision_by_tenant"),
            models.Index(fields=["tenant_id", "status", "-record_id"], name="decision_by_status"),
            models.Index(
                fields=["tenant_id", "capability_id", "-record_id"], name="decision_by_capability"
            ),
            models.Index(fields=["run_id"], name="decision_by_run"),
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


class UnsealedLeaf(models.Model):
    """A leaf that waits for the sealer. Small and short-lived: sealing moves it into the log."""

    leaf_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    leaf_hash = models.BinaryField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["tenant_id", "leaf_id"], name="unsealed_by_tenant")]

    def __str__(self) -> str:
        return self.leaf_id


class Payload(models.Model):
    """A value by its salted commitment, encrypted; erasing it leaves every proof valid."""

    payload_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    decision_id = models.CharField(max_length=40, blank=True)
    kind = models.CharField(max_length=20, help_text="args, inputs, output, transcript ...")
    commitment = models.CharField(max_length=71)
    sealed = models.BinaryField(
        null=True, help_text="Salt and value under the field keys; null once erased."
    )
    created_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["tenant_id", "commitment"], name="payload_by_commitment"),
            models.Index(fields=["decision_id", "kind"], name="payload_by_decision"),
        ]
        constraints = [
            models.CheckConstraint(
                name="payload_erased_is_empty",
                condition=models.Q(erased_at__isnull=True, sealed__isnull=False)
                | models.Q(erased_at__isnull=False, sealed__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.payload_id
