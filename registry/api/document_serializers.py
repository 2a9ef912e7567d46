"""The shapes in which packs, policy bundles and simulations are answered; read-only."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from contextos.review.document_versions import DocumentVersion
from contextos.review.states import VersionState
from registry.api.serializers import (
    FindingSerializer,
    OpenedAnswers,
    PersonSerializer,
    ReviewSerializer,
    VersionRefSerializer,
)
from registry.policy import run_bundle_tests


class DocumentFindingSerializer(FindingSerializer):
    """One finding; `id` is what a reviewer sends in `accepted_warnings`."""

    id = serializers.CharField()


class DocumentSummarySerializer(serializers.Serializer[Any]):
    """What lists show of a version."""

    version_id = serializers.CharField()
    version = serializers.CharField()
    ref = serializers.CharField(help_text="id@version, as runs and records name it.")
    owner_role = serializers.CharField()
    state = serializers.ChoiceField(choices=VersionState.choices)
    digest = serializers.CharField()
    block_count = serializers.IntegerField()
    warn_count = serializers.IntegerField()
    reviewers_needed = serializers.IntegerField()
    author = PersonSerializer()
    created_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    published_at = serializers.DateTimeField(allow_null=True)
    published_by = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True)


class DocumentSerializer(OpenedAnswers, DocumentSummarySerializer):
    """A version in full; wants `opened` (signed_documents.open_document) in its context."""

    editors = serializers.ListField(child=serializers.CharField())
    publication_notes = serializers.CharField()
    findings = DocumentFindingSerializer(many=True)
    reviews = ReviewSerializer(many=True)
    envelope = serializers.JSONField(allow_null=True, help_text="The DSSE envelope, once signed.")
    signature_valid = serializers.SerializerMethodField(
        help_text="Checked for this answer; null where no signature is due."
    )
    problem = serializers.SerializerMethodField(
        help_text="Why the document can't be shown or used; null when all is well."
    )
    document = serializers.SerializerMethodField(
        help_text="As it is stored; null when its signature or digest is refused."
    )

    @extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
    def get_document(self, version: DocumentVersion) -> dict[str, Any] | None:
        """As it is stored."""
        return self.opened().document


class PackSummarySerializer(DocumentSummarySerializer):
    """A version of a Context Pack in a list."""

    pack_id = serializers.CharField()
    intents = serializers.ListField(child=serializers.CharField())
    permission_count = serializers.IntegerField()


class PackSerializer(PackSummarySerializer, DocumentSerializer):
    """A version of a Context Pack in full."""


class BundleTestSerializer(serializers.Serializer[Any]):
    """How one of a bundle's own tests came out."""

    index = serializers.IntegerField()
    name = serializers.CharField()
    passed = serializers.BooleanField()
    differences = serializers.ListField(child=serializers.CharField())


class PolicySummarySerializer(DocumentSummarySerializer):
    """A version of a policy bundle in a list."""

    bundle_id = serializers.CharField()
    priority = serializers.IntegerField()
    shadow = serializers.BooleanField(help_text="Published to watch only.")
    rule_count = serializers.IntegerField()
    test_count = serializers.IntegerField()


class PolicySerializer(PolicySummarySerializer, DocumentSerializer):
    """A version of a policy bundle in full, with the outcome of its tests."""

    test_results = serializers.SerializerMethodField(
        help_text="Run for this answer; null where the bundle is not valid."
    )

    @extend_schema_field(BundleTestSerializer(many=True, allow_null=True))
    def get_test_results(self, version: DocumentVersion) -> Any:
        """Of a bundle that can be compiled."""
        document = self.opened().document
        invalid = any(item["rule"] == "bundle.invalid" for item in version.findings)
        if document is None or invalid:
            return None
        return BundleTestSerializer(run_bundle_tests(document), many=True).data


class DocumentHeadSerializer(serializers.Serializer[Any]):
    """A document: its newest version, and the one in force."""

    owner_role = serializers.CharField()
    latest = serializers.SerializerMethodField()
    active = serializers.SerializerMethodField(help_text="What is published; null = nothing.")

    @extend_schema_field(VersionRefSerializer)
    def get_latest(self, version: Any) -> Any:
        """The newest version, in whatever state."""
        return VersionRefSerializer(version).data

    @extend_schema_field(VersionRefSerializer(allow_null=True))
    def get_active(self, version: Any) -> dict[str, Any] | None:
        """The version in force."""
        if version.active_version_id is None:
            return None
        return {
            "version_id": version.active_version_id,
            "version": version.active_version,
            "state": VersionState.PUBLISHED.value,
        }


class PackHeadSerializer(DocumentHeadSerializer):
    """A Context Pack."""

    pack_id = serializers.CharField()
    intents = serializers.ListField(child=serializers.CharField(), help_text="Of the newest.")


class PolicyHeadSerializer(DocumentHeadSerializer):
    """A policy bundle."""

    bundle_id = serializers.CharField()
    priority = serializers.IntegerField(help_text="Of the newest version.")


class DifferenceSerializer(serializers.Serializer[Any]):
    """One member on which the two decisions differ."""

    member = serializers.CharField()
    published = serializers.JSONField(allow_null=True)
    candidate = serializers.JSONField(allow_null=True)


class OutcomeSerializer(serializers.Serializer[Any]):
    """Both decisions on one input."""

    decision_id = serializers.CharField(allow_null=True)
    recorded_at = serializers.CharField(allow_null=True)
    published = serializers.DictField(source="published.verdict")
    candidate = serializers.DictField(source="candidate.verdict")
    differences = DifferenceSerializer(many=True)


class SimulationSerializer(serializers.Serializer[Any]):
    """What the bundle would decide, beside what the published policy decides."""

    bundle_ref = serializers.CharField()
    total = serializers.IntegerField()
    changed = serializers.IntegerField(help_text="On how many inputs the two differ.")
    left_out = serializers.IntegerField(
        help_text="Recorded calls that can't be decided again: erased, or no longer trusted."
    )
    decision = serializers.DictField(
        allow_null=True, help_text="The candidate's decision on the one input sent; else null."
    )
    results = OutcomeSerializer(many=True)
