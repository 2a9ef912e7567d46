"""What we show to an adapter's far side; a secret is kept encrypted and never shown again."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class CredentialKind(models.TextChoices):
    """How the far side is convinced."""

    CLIENT_CREDENTIALS = "client_credentials", "OAuth 2 client credentials"
    TOKEN_EXCHANGE = "token_exchange", "OAuth 2 token exchange for the person"
    AUTHORIZATION_CODE = "authorization_code", "OAuth 2 with the person's consent"
    API_KEY = "api_key", "API key in a header"
    BEARER = "bearer", "Bearer token"
    MTLS = "mtls", "Client certificate (mTLS)"
    WORKLOAD_JWT = "workload_jwt", "Token signed by ContextOS"


class ClientAuth(models.TextChoices):
    """How we prove at a token endpoint which client we are."""

    BASIC = "client_secret_basic", "Secret in the Authorization header"
    POST = "client_secret_post", "Secret in the form"
    SIGNED = "private_key_jwt", "Assertion signed by ContextOS (no secret)"


class AdapterCredential(models.Model):
    """For one adapter, or one of its capabilities, in one environment of one tenant.

    `version` counts secrets: it is part of what each ciphertext is bound to, of cached tokens and
    of the reference in records, so that a rotation reaches everything at once.
    """

    credential_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=16)
    adapter_id = models.CharField("adapter", max_length=100)
    capability_id = models.CharField(
        "capability",
        max_length=200,
        blank=True,
        help_text="Empty: every capability of the adapter that has no credential of its own.",
    )
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=CredentialKind)
    issuer = models.CharField(
        max_length=500,
        blank=True,
        help_text="The authorization server's issuer identifier, exactly as it calls itself.",
    )
    token_endpoint = models.CharField(max_length=500, blank=True)
    authorization_endpoint = models.CharField(max_length=500, blank=True)
    revocation_endpoint = models.CharField(max_length=500, blank=True)
    sends_issuer = models.BooleanField(
        "answers with its issuer",
        default=True,
        help_text="RFC 9207: an answer without iss is refused. Off only for servers without it.",
    )
    client_id = models.CharField(max_length=300, blank=True)
    client_auth = models.CharField(
        "client proves itself by", max_length=24, choices=ClientAuth, default=ClientAuth.BASIC
    )
    header_name = models.CharField(max_length=100, blank=True)
    authority = models.TextField(
        "private authority",
        blank=True,
        help_text="PEM. Only certificates of this authority are believed then.",
    )
    version = models.PositiveIntegerField(default=1)
    sealed_secret = models.BinaryField(null=True)
    fingerprint = models.CharField(max_length=80, blank=True)
    secret_ends_at = models.DateTimeField(
        null=True, blank=True, help_text="When a certificate runs out."
    )
    sealed_previous = models.BinaryField(null=True)
    previous_fingerprint = models.CharField(max_length=80, blank=True)
    previous_until = models.DateTimeField(null=True, blank=True)
    previous_used_at = models.DateTimeField(
        null=True, blank=True, help_text="When the far side last refused the new secret."
    )
    created_at = models.DateTimeField()
    rotated_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["adapter_id", "environment", "capability_id", "-created_at"]
        default_permissions = ("add", "change", "view")
        verbose_name = "credential"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "environment", "adapter_id", "capability_id"],
                condition=models.Q(revoked_at__isnull=True),
                name="credential_once_per_place",
            ),
            models.CheckConstraint(
                name="credential_kind_known", condition=models.Q(kind__in=CredentialKind.values)
            ),
            models.CheckConstraint(
                name="credential_previous_has_an_end",
                condition=models.Q(sealed_previous__isnull=True)
                | models.Q(previous_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def ref(self) -> str:
        """What records call it: names the secret in use, tells nothing of it."""
        return f"{self.credential_id}@{self.version}"
