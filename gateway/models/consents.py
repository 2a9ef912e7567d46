"""What people allow us at a far side in their name, and what they are still asked."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant
from gateway.models.credentials import AdapterCredential


class Consent(models.Model):
    """A person's yes to some scopes, with the tokens it brought, encrypted.

    `token_version` counts the tokens, so that of several processes only one renews them.
    """

    consent_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    credential = models.ForeignKey(AdapterCredential, on_delete=models.PROTECT, related_name="+")
    user_id = models.CharField("person", max_length=150)
    scopes = models.JSONField(default=list)
    sealed_tokens = models.BinaryField()
    token_version = models.PositiveIntegerField(default=1)
    renewing_until = models.DateTimeField(null=True)
    granted_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-consent_id"]
        default_permissions = ("view",)
        permissions = [
            ("revoke_consent", "Can take back consents of others"),
            ("view_every_consent", "Can see consents of others"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["credential", "user_id"],
                condition=models.Q(revoked_at__isnull=True),
                name="consent_once_per_person",
            )
        ]

    def __str__(self) -> str:
        return self.consent_id


class ConsentState(models.TextChoices):
    """Where an ask stands."""

    PENDING = "pending", "Waiting for the person"
    GRANTED = "granted", "Granted"
    DECLINED = "declined", "Declined"
    EXPIRED = "expired", "Expired"
    WITHDRAWN = "withdrawn", "Not needed any more"


class ConsentRequest(models.Model):
    """One call that waits for its person; the trip to the far side and back is part of the row.

    Of `state` and of the browser's mark only hashes are kept: who reads the table can't answer.
    """

    request_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    credential = models.ForeignKey(AdapterCredential, on_delete=models.PROTECT, related_name="+")
    user_id = models.CharField(max_length=150)
    tool_call_id = models.CharField(max_length=40)
    capability_id = models.CharField(max_length=200)
    scopes = models.JSONField(default=list)
    resource = models.CharField(max_length=500, blank=True)
    audiences = models.JSONField(default=list)
    state = models.CharField(max_length=12, choices=ConsentState)
    state_hash = models.CharField(max_length=64, blank=True)
    browser_hash = models.CharField(max_length=64, blank=True)
    sealed_verifier = models.BinaryField(null=True)
    trip_ends_at = models.DateTimeField(null=True)
    trip_used_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True, help_text="When its call went on or ended.")

    class Meta:
        ordering = ["-request_id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["tool_call_id"],
                condition=models.Q(state="pending"),
                name="consent_asked_once_per_call",
            ),
            models.UniqueConstraint(
                fields=["state_hash"],
                condition=~models.Q(state_hash=""),
                name="consent_state_once",
            ),
            models.CheckConstraint(
                name="consent_request_state_known",
                condition=models.Q(state__in=ConsentState.values),
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=models.Q(closed_at__isnull=True),
                name="consent_requests_open",
            ),
            models.Index(fields=["tenant", "user_id", "state"], name="consent_by_person"),
        ]

    def __str__(self) -> str:
        return self.request_id
