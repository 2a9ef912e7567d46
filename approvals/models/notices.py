"""Who is told, how, and whether it was sent: an outbox, so that nothing is told twice."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from contextos.identity.models import Tenant


class Webhook(models.Model):
    """Where a tenant wants to be told: a signed webhook, or a chat's incoming address."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=100)
    kind = models.CharField(
        max_length=8, choices=[("signed", "Signed webhook"), ("chat", "Slack or Teams message")]
    )
    url = models.URLField(max_length=500)
    sealed_secret = models.BinaryField(null=True, help_text="Signs what is sent; write-only.")
    gates = models.JSONField(default=list, help_text="Gate ids; empty means all.")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="webhook_once")]

    def __str__(self) -> str:
        return self.name


class NoticePreference(models.Model):
    """What one person wants to hear of in one tenant."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    on_request = models.BooleanField(default=True)
    on_reminder = models.BooleanField(default=True)
    on_outcome = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="notice_preference_once")
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant}"


class Notice(models.Model):
    """One message to one receiver about one event; the unique mark makes it fire once."""

    mark = models.CharField(
        primary_key=True, max_length=200, help_text="approval:event:level:channel:receiver"
    )
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    approval_id = models.CharField(max_length=40)
    event = models.CharField(max_length=16)
    channel = models.CharField(max_length=8)
    receiver = models.CharField(max_length=150)
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-due_at", "mark"]
        default_permissions = ("view",)
        permissions = [("resend_notice", "Can have a failed notice sent again")]
        indexes = [
            models.Index(fields=["tenant", "-due_at"], name="notice_by_tenant"),
            models.Index(
                fields=["due_at"],
                condition=models.Q(sent_at__isnull=True, failed_at__isnull=True),
                name="notice_due",
            ),
        ]

    def __str__(self) -> str:
        return self.mark
