"""Callbacks to agents: one row per call that had to wait, sent once it has ended."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class CallbackNotice(models.Model):
    """One call whose agent wants to be told of its end; never sent before that."""

    tool_call_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    agent_id = models.CharField(max_length=150)
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-tool_call_id"]
        default_permissions = ("view",)
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(sent_at__isnull=True, failed_at__isnull=True),
                name="callback_due",
            )
        ]

    def __str__(self) -> str:
        return self.tool_call_id
