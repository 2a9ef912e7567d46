"""Gates: the stable object people are given a permission on, and its reviewed versions."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models

from contextos.identity.models import Tenant
from contextos.review.document_versions import DocumentVersion
from contextos.review.models import ReviewEntry
from contextos.review.states import VersionState


class Gate(models.Model):
    """One gate of a tenant. Who may vote here holds the permission `vote_gate` on this object."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    gate_id = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["gate_id"]
        default_permissions = ("view",)
        permissions = [("vote_gate", "Can vote at this gate")]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "gate_id"], name="gate_once_per_tenant")
        ]

    def __str__(self) -> str:
        return self.gate_id


class GateVersion(DocumentVersion):
    """One version of a gate: its stages, who keeps them, how long it waits, who is told."""

    id_column = "gate_id"
    payload_type = "application/vnd.contextos.gate+json"

    gate_id = models.CharField(max_length=200)
    stage_count = models.PositiveSmallIntegerField(default=0)
    quorum = models.PositiveSmallIntegerField(default=0, help_text="Votes over all stages.")

    class Meta(DocumentVersion.Meta):
        verbose_name = "gate"
        permissions = [
            ("submit_gateversion", "Can submit a gate for review"),
            ("review_gateversion", "Can review a gate that others wrote"),
            ("publish_gateversion", "Can publish an approved gate"),
            ("retire_gateversion", "Can retire a gate"),
        ]
        constraints = [
            *DocumentVersion.Meta.constraints,
            models.UniqueConstraint(
                fields=["tenant", "gate_id", "version"], name="gate_version_number_once"
            ),
            models.UniqueConstraint(
                fields=["tenant", "gate_id"],
                condition=models.Q(state=VersionState.PUBLISHED),
                name="one_active_version_per_gate",
            ),
        ]
        indexes = [models.Index(fields=["tenant", "state"], name="gate_version_by_state")]


class GateReview(ReviewEntry):
    """What a person said about a version of a gate."""

    version = models.ForeignKey(GateVersion, on_delete=models.PROTECT, related_name="reviews")

    class Meta(ReviewEntry.Meta):
        pass


class ApproverGroup(models.Model):
    """People who keep a stage of a gate together; gates name groups, not people."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    name = models.SlugField(max_length=100)
    title = models.CharField(max_length=200)
    group = models.OneToOneField(Group, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="approver_group_once")
        ]

    def __str__(self) -> str:
        return self.title or self.name
