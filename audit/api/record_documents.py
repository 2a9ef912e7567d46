"""Records as REST shows them, and their description for OpenAPI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers

from audit.record_filter import MODES, OUTCOME_NAMES, STATUSES
from audit.record_texts import StoredRecord

_TEXTS = {
    "from": "Not before this day (`2026-01-31`, from midnight UTC) or moment (RFC 3339).",
    "to": "Before this day or moment, which is itself outside.",
    "capability": "Exact capability id, such as `payments.issue_refund`.",
    "adapter": "Exact adapter id.",
    "agent": "Exact id of the agent that called.",
    "user": "On whose behalf: a user id or the name they sign in with.",
    "approver": "Who voted, or for whom: a user id, a name, or `policy:<rule_id>`.",
    "rule": "Exact id of a policy rule that matched.",
    "gate": "Exact id of the gate that was passed.",
    "trace": "Exact trace id (32 hex digits).",
    "run": "Exact run id.",
    "decision": "Exact decision id.",
    "intent": "Exact intent of the run.",
    "error": "Exact error code, such as `args.schema`.",
    "amount_min": "At least this amount; needs clearance for confidential values.",
    "amount_max": "At most this amount; needs clearance for confidential values.",
    "currency": "Unit of the amount, such as `INR`; needs clearance for confidential values.",
    "ended": "`1`: only the row that ends each decision, so that each is listed once.",
}
_CHOICES = {"status": STATUSES, "outcome": OUTCOME_NAMES, "mode": MODES}
FILTERS = [
    *(OpenApiParameter(name, str, description=text) for name, text in _TEXTS.items()),
    *(
        OpenApiParameter(
            name, str, description=f"One or, with commas between, several of: {', '.join(known)}."
        )
        for name, known in _CHOICES.items()
    ),
]


class RecordSerializer(serializers.Serializer[Any]):
    """A DecisionRecord as stored (schema `decision-record.v1`)."""

    record_version = serializers.CharField()
    decision_id = serializers.CharField()
    seq = serializers.IntegerField()
    tenant_id = serializers.CharField()
    status = serializers.ChoiceField(choices=STATUSES)
    outcome = serializers.ChoiceField(choices=OUTCOME_NAMES)
    capability = serializers.DictField()
    lineage = serializers.DictField()
    policy_decision = serializers.DictField(allow_null=True)
    approvals = serializers.ListField(child=serializers.DictField())
    principal_chain = serializers.ListField(child=serializers.DictField())
    created_at = serializers.DateTimeField()
    record_hash = serializers.CharField()


class SealedRowSerializer(serializers.Serializer[Any]):
    """One row and its place."""

    record = serializers.DictField()
    log_index = serializers.IntegerField(allow_null=True)


class DecisionSerializer(serializers.Serializer[Any]):
    """All rows of a decision, first to last."""

    decision_id = serializers.CharField()
    rows = SealedRowSerializer(many=True)


def row_document(row: StoredRecord) -> dict[str, Any]:
    """A row of a list: the record as it is hashed; of a damaged one what its head still says.

    Its place in the log is no part of it, and stands with the rows of the decision.
    """
    return row.record or _remains(row)


def decision_document(rows: Sequence[StoredRecord]) -> dict[str, Any]:
    """One decision as the contract spells it."""
    return {
        "decision_id": rows[0].head.decision_id,
        "rows": [{"record": row_document(row), "log_index": row.log_index} for row in rows],
    }


def _remains(row: StoredRecord) -> dict[str, Any]:
    head = row.head
    return {
        "decision_id": head.decision_id,
        "seq": head.seq,
        "tenant_id": head.tenant_id,
        "status": head.status,
        "outcome": head.outcome,
        "text_unavailable": True,
    }


_RECORD = {
    "record_version": "contextos.decision_record.v1",
    "decision_id": "dec_06f2m8q1k9zq7w8x5e3m2n4p6r",
    "seq": 3,
    "tenant_id": "acme",
    "status": "EXECUTED",
    "outcome": "executed",
    "capability": {
        "id": "payments.issue_refund",
        "class": "act",
        "mode_requested": "destructive",
        "mode_effective": "destructive",
        "mode_highest": "destructive",
    },
    "lineage": {"adapter_id": "adp_payments_mcp", "adapter_version": "1.0.0"},
    "policy_decision": {"allowed": True, "matched_rule_ids": ["refund.needs_finance"]},
    "approvals": [
        {
            "approval_id": "apr_06f2m8q1k9zq7w8x5e3m2n4p6r",
            "gate": "GATE_FINANCE_APPROVAL",
            "votes": [{"approver": "user_06f2m8q1k9zq7w8x5e3m2n4p6r", "verdict": "approve"}],
            "state": "consumed",
        }
    ],
    "principal_chain": [
        {"kind": "agent", "id": "support_agent", "tenant_id": "acme", "display": "Support agent"}
    ],
    "created_at": "2026-05-04T09:41:00.000Z",
    "record_hash": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
}
ROW = OpenApiExample("The row that ended a refund", response_only=True, value=_RECORD)
DECISION = OpenApiExample(
    "A refund",
    response_only=True,
    value={
        "decision_id": _RECORD["decision_id"],
        "rows": [{"record": _RECORD, "log_index": 4711}],
    },
)
