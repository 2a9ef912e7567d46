"""Tokens we issued: listed and revocable; the token itself is never stored."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.utils import timezone

from contextos.identity.models.agents import MODE_CHOICES
from contextos.identity.models.tenants import Tenant


class TokenKind(models.TextChoices):
    """Whom a token speaks for."""

    AGENT = "agent", "Agent"
    USER = "user", "Person"
    ADAPTER = "adapter", "Adapter"


class TokenQuerySet(models.QuerySet["IssuedToken"]):
    """Tokens by usability."""

    def usable(self, at: datetime | None = None) -> TokenQuerySet:
        """Neither expired nor revoked."""
        return self.filter(revoked_at__isnull=True, expires_at__gt=at or timezone.now())


class IssuedToken(models.Model):
    """One token by its `jti`; deleting the row is not possible, revoking is."""

    token_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="issued_tokens")
    kind = models.CharField(max_length=8, choices=TokenKind)
    subject = models.CharField(max_length=150)
    subject_label = models.CharField(max_length=200)
    scopes = models.JSONField(
        null=True,
        blank=True,
        help_text="Capability ids this token is narrowed to; null = not narrowed.",
    )
    max_mode = models.CharField(max_length=16, choices=MODE_CHOICES)
    kid = models.CharField(max_length=100, help_text="The key that signed it.")
    issued_by = models.CharField(max_length=150)
    issued_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.CharField(max_length=150, blank=True)
    revoke_reason = models.CharField(max_length=500, blank=True)

    objects = TokenQuerySet.as_manager()

    class Meta:
        verbose_name = "token"
        ordering = ["-issued_at", "token_id"]
        default_permissions = ("add", "view")
        permissions = [("revoke_issuedtoken", "Can revoke tokens")]
        indexes = [models.Index(fields=["tenant", "kind", "subject"], name="token_by_subject")]
        constraints = [
            models.CheckConstraint(
                name="token_kind_known", condition=models.Q(kind__in=TokenKind.values)
            ),
            models.CheckConstraint(
                name="token_revocation_is_whole",
                condition=models.Q(revoked_at__isnull=True, revoked_by="")
                | (models.Q(revoked_at__isnull=False) & ~models.Q(revoked_by="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} token for {self.subject_label}"

    @property
    def state(self) -> str:
        """active, expired or revoked."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "active"
