"""The Merkle log of each tenant: leaves in order, what waits, and what was signed (E2)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


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


class LogHead(models.Model):
    """How far a tenant's log has grown; the sealer's place to go on, and its lock."""

    tenant_id = models.CharField(primary_key=True, max_length=64)
    origin = models.CharField(max_length=300, help_text="First line of every checkpoint.")
    tree_size = models.BigIntegerField(default=0)
    root_hash = models.BinaryField(max_length=32)
    peaks = models.BinaryField(help_text="Roots of the complete subtrees, largest first.")
    kid = models.CharField(max_length=64, help_text="The key that signed the last checkpoint.")
    sealed_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.tree_size}"


class LogLeaf(models.Model):
    """One leaf at its place in the tenant's log: a DecisionRecord row or an event, by its hash."""

    append_only: ClassVar[bool] = True

    leaf_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    log_index = models.BigIntegerField()
    leaf_hash = models.BinaryField(max_length=32)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "log_index"], name="log_index_once")
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} #{self.log_index}"


class LogNode(models.Model):
    """The root over 256**level leaves, so that a proof reads a few hundred hashes at any size."""

    append_only: ClassVar[bool] = True

    tenant_id = models.CharField(max_length=64)
    level = models.PositiveSmallIntegerField()
    position = models.BigIntegerField()
    root_hash = models.BinaryField(max_length=32)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "level", "position"], name="log_node_once")
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.level}/{self.position}"


class Checkpoint(models.Model):
    """A signed statement: this tenant's log has so many leaves, and this is the root over them."""

    append_only: ClassVar[bool] = True

    tenant_id = models.CharField(max_length=64)
    tree_size = models.BigIntegerField()
    root_hash = models.BinaryField(max_length=32)
    kid = models.CharField(max_length=64)
    text = models.TextField(help_text="C2SP tlog-checkpoint, signed.")
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["tenant_id", "tree_size", "kid"], name="checkpoint_once_per_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.tree_size}"


class OutsideMark(models.Model):
    """Up to which checkpoint a place outside the database has them; moves on as they are sent."""

    sink = models.CharField(max_length=100)
    tenant_id = models.CharField(max_length=64)
    checkpoint_id = models.BigIntegerField()
    tree_size = models.BigIntegerField()
    sent_at = models.DateTimeField()
    failed_at = models.DateTimeField(null=True, help_text="Since when it has not worked.")
    fault = models.CharField(max_length=200, blank=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["sink", "tenant_id"], name="outside_mark_once")
        ]

    def __str__(self) -> str:
        return f"{self.sink} {self.tenant_id} {self.tree_size}"
