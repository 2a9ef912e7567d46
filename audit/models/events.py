"""Events: one thing somebody did. The canonical text is the truth; other columns follow from it."""

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
