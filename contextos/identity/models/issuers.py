"""Outside issuers whose tokens a tenant trusts."""

from __future__ import annotations

from django.db import models

from contextos.identity.models.tenants import Tenant


class SubjectKind(models.TextChoices):
    """Whom an issuer may speak for."""

    AGENT = "agent", "Agents"
    USER = "user", "People"


class TrustedIssuer(models.Model):
    """One issuer, its keys (a JWKS address or a pasted key set) and whom it may vouch for."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="trusted_issuers")
    name = models.CharField(max_length=200)
    issuer = models.CharField(
        max_length=500, help_text="Exactly as in the iss claim of its tokens."
    )
    audience = models.CharField(max_length=500, help_text="The aud claim its tokens must carry.")
    subject_kind = models.CharField("speaks for", max_length=8, choices=SubjectKind)
    algorithms = models.JSONField(
        default=list, help_text='A subset of ["EdDSA", "ES256", "RS256"].'
    )
    jwks_url = models.URLField(
        "key address",
        max_length=500,
        blank=True,
        help_text="Where its public keys (JWKS) are fetched from.",
    )
    jwks = models.JSONField(
        "or pasted keys",
        null=True,
        blank=True,
        help_text="A JWKS document with public keys only; nothing is fetched then.",
    )
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant", "issuer"]
        default_permissions = ("add", "change", "view")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "issuer", "subject_kind"], name="issuer_once_per_tenant_and_kind"
            ),
            models.CheckConstraint(
                name="issuer_subject_kind_known",
                condition=models.Q(subject_kind__in=SubjectKind.values),
            ),
        ]

    def __str__(self) -> str:
        return self.name
