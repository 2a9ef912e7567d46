"""The shapes that the registry's REST answers with; read-only."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from contextos.review.signed_documents import OpenedDocument
from contextos.review.states import VersionState
from registry.models import Adapter, AdapterVersion, Capability
from registry.selectors import Stops


class PersonSerializer(serializers.Serializer[Any]):
    """A person, by id and by name."""

    user_id = serializers.CharField()
    username = serializers.CharField()


class ActiveVersionSerializer(serializers.Serializer[Any]):
    """What an adapter has published in one environment."""

    environment = serializers.CharField()
    version = serializers.CharField()
    version_id = serializers.CharField()
    highest_mode = serializers.CharField()
    capability_count = serializers.IntegerField()


class AdapterSerializer(serializers.Serializer[Any]):
    """An adapter and what it has published; wants `stops` in its context."""

    adapter_id = serializers.CharField()
    name = serializers.CharField()
    owner_role = serializers.CharField()
    created_at = serializers.DateTimeField()
    active = ActiveVersionSerializer(many=True, source="active_versions")
    stopped = serializers.SerializerMethodField(
        help_text="Why nothing of it may run: the reason of a kill switch, else null."
    )

    def get_stopped(self, adapter: Adapter) -> str | None:
        """The reason of the switch that stops it."""
        stops: Stops = self.context["stops"]
        return stops.reason(adapter_id=adapter.adapter_id)


class FindingSerializer(serializers.Serializer[Any]):
    """One readiness finding; `id` is what a reviewer sends in `accepted_warnings`."""

    id = serializers.CharField(source="tick_id")
    rule = serializers.CharField()
    severity = serializers.ChoiceField(choices=["block", "warn", "info"])
    pointer = serializers.CharField()
    message = serializers.CharField()
    remediation = serializers.CharField()


class FindingCountsSerializer(serializers.Serializer[Any]):
    """How many findings of each severity there are."""

    block = serializers.IntegerField()
    warn = serializers.IntegerField()
    info = serializers.IntegerField()


class ReviewSerializer(serializers.Serializer[Any]):
    """What a person said about a version."""

    reviewer = PersonSerializer()
    verdict = serializers.CharField()
    reason = serializers.CharField()
    accepted_warnings = serializers.ListField(child=serializers.CharField())
    digest = serializers.CharField()
    created_at = serializers.DateTimeField()


class SignatureSerializer(serializers.Serializer[Any]):
    """Which key signed a version, when, and for whom."""

    kid = serializers.CharField()
    payload_type = serializers.CharField()
    envelope_digest = serializers.CharField()
    signed_by = serializers.CharField()
    created_at = serializers.DateTimeField()


class VersionRefSerializer(serializers.Serializer[Any]):
    """A version, named."""

    version_id = serializers.CharField()
    version = serializers.CharField()
    state = serializers.ChoiceField(choices=VersionState.choices)


class VersionSummarySerializer(serializers.Serializer[Any]):
    """A version as lists show it; wants the counts of `selectors.with_finding_counts`."""

    version_id = serializers.CharField()
    adapter_id = serializers.CharField(source="adapter.adapter_id")
    version = serializers.CharField()
    environment = serializers.CharField()
    state = serializers.ChoiceField(choices=VersionState.choices)
    digest = serializers.CharField()
    protocol = serializers.CharField()
    protocol_version = serializers.CharField()
    highest_mode = serializers.CharField()
    capability_count = serializers.IntegerField()
    risk = serializers.CharField()
    reviewers_needed = serializers.IntegerField()
    author = PersonSerializer()
    created_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    published_at = serializers.DateTimeField(allow_null=True)
    published_by = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)
    findings_summary = serializers.SerializerMethodField()

    @extend_schema_field(FindingCountsSerializer)
    def get_findings_summary(self, version: Any) -> dict[str, int]:
        """Counted by the database."""
        return {
            "block": version.block_count,
            "warn": version.warn_count,
            "info": version.info_count,
        }


class OpenedAnswers:
    """What an answer says of a document that was opened for it, as `opened` in its context."""

    context: Any

    def get_signature_valid(self, version: Any) -> bool | None:
        """Whether a trusted key signed exactly this document."""
        return self.opened().signature_valid

    def get_problem(self, version: Any) -> str | None:
        """In words."""
        return self.opened().problem

    def opened(self) -> OpenedDocument:
        """As pages and answers see it."""
        opened: OpenedDocument = self.context["opened"]
        return opened


class VersionSerializer(OpenedAnswers, VersionSummarySerializer):
    """A version in full; wants `findings` and `opened` (selectors.open_version) in its context."""

    editors = serializers.ListField(child=serializers.CharField())
    rollout_notes = serializers.CharField()
    publication_notes = serializers.CharField()
    compared_with = VersionRefSerializer(allow_null=True)
    findings = serializers.SerializerMethodField()
    reviews = ReviewSerializer(many=True)
    signatures = SignatureSerializer(many=True)
    envelope = serializers.JSONField(allow_null=True, help_text="The DSSE envelope, once signed.")
    signature_valid = serializers.SerializerMethodField(
        help_text="Checked for this answer; null where no signature is due."
    )
    problem = serializers.SerializerMethodField(
        help_text="Why the manifest can't be shown or used; null when all is well."
    )
    manifest = serializers.SerializerMethodField(
        help_text="The normalised manifest; null when its signature or digest is refused."
    )

    @extend_schema_field(FindingCountsSerializer)
    def get_findings_summary(self, version: Any) -> dict[str, int]:
        """Counted from the findings at hand."""
        found = [finding.severity for finding in self.context["findings"]]
        return {severity: found.count(severity) for severity in ("block", "warn", "info")}

    @extend_schema_field(FindingSerializer(many=True))
    def get_findings(self, version: AdapterVersion) -> Any:
        """In the order of the document."""
        return FindingSerializer(self.context["findings"], many=True).data

    @extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
    def get_manifest(self, version: AdapterVersion) -> dict[str, Any] | None:
        """As it is stored."""
        return self.opened().document


class CapabilitySerializer(serializers.Serializer[Any]):
    """One published capability; wants `stops` in its context."""

    capability_id = serializers.CharField()
    adapter_id = serializers.CharField(source="version.adapter.adapter_id")
    version = serializers.CharField(source="version.version")
    version_id = serializers.CharField()
    environment = serializers.CharField()
    capability_class = serializers.CharField()
    approval_mode = serializers.CharField()
    description = serializers.CharField()
    owner_role = serializers.CharField()
    domain = serializers.CharField()
    intents = serializers.ListField(child=serializers.CharField())
    required_claims = serializers.JSONField()
    requires_approval_gate = serializers.SerializerMethodField()
    requires_idempotency_key = serializers.BooleanField()
    stopped = serializers.SerializerMethodField(
        help_text="Why it may not run: the reason of a kill switch, else null."
    )

    def get_requires_approval_gate(self, capability: Capability) -> str | None:
        """As in the manifest: null where there is none."""
        return capability.gate or None

    def get_stopped(self, capability: Capability) -> str | None:
        """The reason of the switch that stops it."""
        stops: Stops = self.context["stops"]
        return stops.reason(
            adapter_id=capability.version.adapter.adapter_id,
            version_id=capability.version_id,
            capability_id=capability.capability_id,
        )


class KillSwitchSerializer(serializers.Serializer[Any]):
    """A kill switch, thrown or lifted."""

    switch_id = serializers.CharField()
    scope = serializers.CharField()
    id = serializers.CharField(source="target_id")
    reason = serializers.CharField()
    thrown_by = serializers.CharField()
    thrown_at = serializers.DateTimeField()
    lifted_by = serializers.CharField()
    lifted_at = serializers.DateTimeField(allow_null=True)
    lift_reason = serializers.CharField()
    is_thrown = serializers.BooleanField()


class ChangeSerializer(serializers.Serializer[Any]):
    """One difference between two versions and what it means for risk."""

    rule = serializers.CharField()
    direction = serializers.ChoiceField(choices=["widens", "unknown", "narrows", "neutral"])
    pointer = serializers.CharField()
    subject = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    message = serializers.CharField()
    why = serializers.CharField()


class DiffSerializer(serializers.Serializer[Any]):
    """The risk diff of two versions, widenings first; `against` is null for a first version."""

    version = VersionRefSerializer()
    against = VersionRefSerializer(allow_null=True)
    verdict = serializers.ChoiceField(choices=["widens", "narrows", "neutral", "unchanged"])
    counts = serializers.DictField(child=serializers.IntegerField())
    changes = ChangeSerializer(many=True)
