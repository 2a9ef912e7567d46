"""Adapters, their reviewed versions, and what was found, said and signed about each."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant
from contextos.identity.models.tenants import EnvironmentName
from contextos.review.models import ReviewedVersion, ReviewEntry
from contextos.review.states import VersionState


class Adapter(models.Model):
    """A named integration of one tenant; what it can do is said by its versions."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="adapters")
    adapter_id = models.CharField(max_length=100)
    name = models.CharField(max_length=200)
    owner_role = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["adapter_id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "adapter_id"], name="adapter_once_per_tenant")
        ]

    def __str__(self) -> str:
        return self.adapter_id


class AdapterVersion(ReviewedVersion):
    """One version of an adapter's manifest."""

    adapter = models.ForeignKey(Adapter, on_delete=models.PROTECT, related_name="versions")
    version = models.CharField(max_length=64, help_text="Semantic version, never used twice.")
    environment = models.CharField(max_length=16, choices=EnvironmentName)
    protocol = models.CharField(max_length=16, blank=True)
    protocol_version = models.CharField(max_length=32, blank=True)
    highest_mode = models.CharField(max_length=16, blank=True)
    capability_count = models.PositiveIntegerField(default=0)
    compared_with = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="The published version that reviewers saw it beside.",
    )
    risk = models.CharField(
        max_length=12,
        blank=True,
        help_text="Verdict of the risk diff at submission: widens, narrows, neutral or unchanged.",
    )
    rollout_notes = models.TextField(blank=True)

    class Meta(ReviewedVersion.Meta):
        ordering = ["-created_at", "-version_id"]
        permissions = [
            ("submit_adapterversion", "Can submit an adapter version for review"),
            ("review_adapterversion", "Can review an adapter version that others wrote"),
            ("publish_adapterversion", "Can publish an approved adapter version"),
            ("retire_adapterversion", "Can retire an adapter version"),
        ]
        constraints = [
            *ReviewedVersion.Meta.constraints,
            models.UniqueConstraint(
                fields=["adapter", "version"], name="adapter_version_number_once"
            ),
            models.UniqueConstraint(
                fields=["adapter", "environment"],
                condition=models.Q(state=VersionState.PUBLISHED),
                name="one_active_version_per_environment",
            ),
        ]
        indexes = [models.Index(fields=["tenant", "state"], name="adapter_version_by_state")]

    def __str__(self) -> str:
        return f"{self.adapter.adapter_id} {self.version}"


class Review(ReviewEntry):
    """What a person said about an adapter version."""

    version = models.ForeignKey(AdapterVersion, on_delete=models.PROTECT, related_name="reviews")

    class Meta(ReviewEntry.Meta):
        pass


class Finding(models.Model):
    """One readiness finding on one version."""

    mutable_once_submitted = ()  # contextos.review.frozen_contents

    version = models.ForeignKey(AdapterVersion, on_delete=models.CASCADE, related_name="findings")
    position = models.PositiveIntegerField()
    rule = models.CharField(max_length=100)
    severity = models.CharField(max_length=8)
    pointer = models.CharField(max_length=500, blank=True)
    message = models.TextField()
    remediation = models.TextField()

    class Meta:
        ordering = ["version", "position"]
        constraints = [
            models.UniqueConstraint(fields=["version", "position"], name="finding_position_once"),
            models.CheckConstraint(
                name="finding_severity_known",
                condition=models.Q(severity__in=["block", "warn", "info"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} at {self.pointer or '/'}"

    @property
    def tick_id(self) -> str:
        """What a reviewer accepts: this rule at this place."""
        return f"{self.rule}@{self.pointer}"


class Signature(models.Model):
    """Which key signed a version, when, and for whom; the envelope itself is on the version."""

    append_only = True  # triggers in the migration (audit.append_only)

    version = models.ForeignKey(AdapterVersion, on_delete=models.PROTECT, related_name="signatures")
    kid = models.CharField(max_length=100)
    payload_type = models.CharField(max_length=200)
    envelope_digest = models.CharField(max_length=71)
    signed_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["version", "kid"], name="signature_once_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.kid} over {self.version}"
