"""The shape of a request for the API description; the schema file is what is promised."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from approvals.states import RequestState
from contextos.core.modes import ApprovalMode

_MODES = [mode.value for mode in ApprovalMode]
_VERDICTS = ["approve", "reject"]


class SubjectSerializer(serializers.Serializer[Any]):
    """What is to be approved; `digest` covers all that will run."""

    kind = serializers.CharField()
    id = serializers.CharField()
    digest = serializers.CharField()


class PrincipalSerializer(serializers.Serializer[Any]):
    """One link of the chain, outermost first."""

    kind = serializers.ChoiceField(choices=["user", "service", "agent", "automation"])
    id = serializers.CharField()
    tenant_id = serializers.CharField()
    display = serializers.CharField(required=False)


class QuorumSerializer(serializers.Serializer[Any]):
    """How many have to agree, and how many said what so far."""

    needed = serializers.IntegerField()
    approve = serializers.IntegerField()
    deny = serializers.IntegerField()


class VoteSerializer(serializers.Serializer[Any]):
    """One person's word; withdrawn votes are not listed."""

    approver = serializers.CharField()
    verdict = serializers.ChoiceField(choices=_VERDICTS)
    reason = serializers.CharField()
    factor = serializers.CharField(allow_null=True)
    on_behalf_of = serializers.CharField(allow_null=True)
    digest = serializers.CharField()
    at = serializers.DateTimeField()


class ApprovalRequestSerializer(serializers.Serializer[Any]):
    """A request; those who may not decide it see its arguments redacted."""

    approval_id = serializers.CharField()
    gate = serializers.CharField()
    gate_version = serializers.CharField()
    subject = SubjectSerializer()
    summary = serializers.CharField(help_text="Computed by rule, never from an agent's text.")
    arguments = serializers.DictField(allow_null=True, help_text="Null once they were erased.")
    evidence_refs = serializers.ListField(child=serializers.CharField())
    policy_decision_id = serializers.CharField(allow_null=True)
    effective_mode = serializers.ChoiceField(choices=_MODES)
    requested_by = PrincipalSerializer(many=True)
    quorum = QuorumSerializer()
    votes = VoteSerializer(many=True)
    state = serializers.ChoiceField(choices=RequestState.choices)
    expires_at = serializers.DateTimeField()
    escalates_at = serializers.DateTimeField(allow_null=True)


class CommentSerializer(serializers.Serializer[Any]):
    """Something a person said about a request."""

    author = serializers.CharField()
    kind = serializers.ChoiceField(choices=["comment", "question", "answer"])
    text = serializers.CharField()
    at = serializers.DateTimeField()
