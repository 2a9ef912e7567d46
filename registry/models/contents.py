"""What a manifest version declares: capabilities, scopes, resources, prompts."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant
from registry.models.adapters import AdapterVersion


class Capability(models.Model):
    """One governed operation of one version. `is_active` follows the version's publication."""

    mutable_once_submitted = ("is_active",)  # contextos.review.frozen_contents

    version = models.ForeignKey(
        AdapterVersion, on_delete=models.CASCADE, related_name="capabilities"
    )
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=16)
    capability_id = models.CharField(max_length=200)
    capability_class = models.CharField(max_length=16)
    approval_mode = models.CharField(max_length=16)
    mode_rank = models.PositiveSmallIntegerField(default=0, help_text="Orders lists by risk.")
    description = models.TextField(blank=True)
    owner_role = models.CharField(max_length=100, blank=True)
    domain = models.CharField(max_length=100, blank=True)
    intents = models.JSONField(default=list)
    required_claims = models.JSONField(default=list)
    gate = models.CharField(max_length=100, blank=True)
    requires_idempotency_key = models.BooleanField(default=False)
    binding = models.CharField(max_length=200, blank=True)
    pointer = models.CharField(max_length=100, help_text="Where it stands in the manifest.")
    is_active = models.BooleanField(default=False)

    class Meta:
        ordering = ["capability_id", "id"]
        verbose_name_plural = "capabilities"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "environment", "capability_id"],
                condition=models.Q(is_active=True),
                name="capability_once_among_active",
            ),
            models.UniqueConstraint(
                fields=["version", "capability_id"], name="capability_once_per_version"
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "is_active", "capability_id", "id"], name="capability_catalogue"
            ),
            models.Index(
                fields=["tenant", "is_active", "mode_rank", "capability_id"],
                name="capability_by_risk",
            ),
        ]

    def __str__(self) -> str:
        return self.capability_id


class Scope(models.Model):
    """One OAuth scope a version asks for, from the start or only for a capability that names it."""

    mutable_once_submitted = ()

    class Kind(models.TextChoices):
        INITIAL = "initial", "Initial"
        STEP_UP = "step_up", "Step-up"

    version = models.ForeignKey(AdapterVersion, on_delete=models.CASCADE, related_name="scopes")
    kind = models.CharField(max_length=8, choices=Kind)
    name = models.CharField(max_length=300)
    capability_id = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["kind", "capability_id", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "kind", "name", "capability_id"], name="scope_once_per_use"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Resource(models.Model):
    """A readable artefact or a template of many, with its classification."""

    mutable_once_submitted = ()

    version = models.ForeignKey(AdapterVersion, on_delete=models.CASCADE, related_name="resources")
    uri = models.CharField(max_length=500)
    is_template = models.BooleanField(default=False)
    name = models.CharField(max_length=200, blank=True)
    mime_type = models.CharField(max_length=100, blank=True)
    size_bytes = models.BigIntegerField(null=True, blank=True)
    classification = models.CharField(max_length=16, blank=True)
    source = models.CharField(max_length=200, blank=True)
    freshness = models.JSONField(default=dict)
    access = models.JSONField(default=dict)
    evidence_ref = models.CharField(max_length=200, blank=True)
    parameter_constraints = models.JSONField(default=dict)
    pointer = models.CharField(max_length=100)

    class Meta:
        ordering = ["uri", "id"]

    def __str__(self) -> str:
        return self.uri


class Prompt(models.Model):
    """A prompt template that a server offers: versioned and reviewed, never authority."""

    mutable_once_submitted = ()

    version = models.ForeignKey(AdapterVersion, on_delete=models.CASCADE, related_name="prompts")
    name = models.CharField(max_length=200)
    title = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    prompt_version = models.CharField(max_length=64, blank=True)
    arguments = models.JSONField(default=list)
    golden_set_ref = models.CharField(max_length=300, blank=True)
    pointer = models.CharField(max_length=100)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name
