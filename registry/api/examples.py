"""Examples for the API description; a test checks that they have the shape of real answers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_DIGEST = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_VERSION_ID = "adv_01k9zq7w8x5e3m2n4p6r8t0v2w4y6a"
_TIME = "2026-05-04T09:30:00.000000Z"
_PERSON = {"user_id": "user_01k9zq7w8x5e3m2n4p6r8t0v2w4y6b", "username": "author"}

_MANIFEST_VALUE: dict[str, Any] = {
    "adapter_id": "adp_orders",
    "name": "Orders",
    "owner_role": "orders_platform",
    "protocol": "function",
    "protocol_version": "1.0",
    "environment": "production",
    "transport": {"kind": "function", "timeout_seconds": 5},
    "auth": {"type": "workload_identity", "token_audience": "orders"},
    "schemas": {
        "schema://orders.lookup.input.v1": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
        "schema://orders.lookup.output.v1": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "status": {"type": "string"}},
            "required": ["order_id", "status"],
        },
    },
    "capabilities": [
        {
            "capability_id": "orders.lookup",
            "function_name": "orders_lookup",
            "capability_class": "observe",
            "approval_mode": "read_only",
            "description": "Look up one order by its number.",
            "input_schema_ref": "schema://orders.lookup.input.v1",
            "output_schema_ref": "schema://orders.lookup.output.v1",
            "evidence_keys": ["order_id"],
        }
    ],
}
_FINDING_VALUE = {
    "id": "release.notes_missing@/rollout_notes",
    "rule": "release.notes_missing",
    "severity": "warn",
    "pointer": "/rollout_notes",
    "message": "The manifest says nothing about how it is rolled out.",
    "remediation": "Add rollout_notes: who watches, what tells you to go back.",
}
_SUMMARY_VALUE: dict[str, Any] = {
    "version_id": _VERSION_ID,
    "adapter_id": "adp_orders",
    "version": "1.0.0",
    "environment": "production",
    "state": "draft",
    "digest": _DIGEST,
    "protocol": "function",
    "protocol_version": "1.0",
    "highest_mode": "read_only",
    "capability_count": 1,
    "risk": "",
    "reviewers_needed": 1,
    "author": _PERSON,
    "created_at": _TIME,
    "submitted_at": None,
    "decided_at": None,
    "published_at": None,
    "published_by": "",
    "ended_at": None,
    "findings_summary": {"block": 0, "warn": 1, "info": 0},
}

MANIFEST = OpenApiExample("A reading adapter", request_only=True, value=_MANIFEST_VALUE)
ADAPTER = OpenApiExample(
    "An adapter",
    response_only=True,
    value={
        "adapter_id": "adp_orders",
        "name": "Orders",
        "owner_role": "orders_platform",
        "created_at": _TIME,
        "active": [
            {
                "environment": "production",
                "version": "1.0.0",
                "version_id": _VERSION_ID,
                "highest_mode": "read_only",
                "capability_count": 1,
            }
        ],
        "stopped": None,
    },
)
FINDING = OpenApiExample("A warning", response_only=True, value=_FINDING_VALUE)
VERSION = OpenApiExample(
    "A draft with one warning",
    response_only=True,
    value={
        **_SUMMARY_VALUE,
        "editors": [_PERSON["user_id"]],
        "rollout_notes": "",
        "publication_notes": "",
        "compared_with": None,
        "findings": [_FINDING_VALUE],
        "reviews": [],
        "signatures": [],
        "envelope": None,
        "signature_valid": None,
        "problem": None,
        "manifest": _MANIFEST_VALUE,
    },
)
DIFF = OpenApiExample(
    "A widening",
    response_only=True,
    value={
        "version": {"version_id": _VERSION_ID, "version": "1.1.0", "state": "in_review"},
        "against": {
            "version_id": "adv_01k9zq7w8x5e3m2n4p6r8t0v2w4y69",
            "version": "1.0.0",
            "state": "published",
        },
        "verdict": "widens",
        "counts": {"widens": 1, "unknown": 0, "narrows": 0, "neutral": 0},
        "changes": [
            {
                "rule": "capability.mode",
                "direction": "widens",
                "pointer": "/capabilities/0/approval_mode",
                "subject": "orders.lookup",
                "before": "read_only",
                "after": "network",
                "message": "The approval mode of orders.lookup goes from read_only to network.",
                "why": "A higher mode lets a call do more.",
            }
        ],
    },
)
CAPABILITY = OpenApiExample(
    "A published capability",
    response_only=True,
    value={
        "capability_id": "orders.lookup",
        "adapter_id": "adp_orders",
        "version": "1.0.0",
        "version_id": _VERSION_ID,
        "environment": "production",
        "capability_class": "observe",
        "approval_mode": "read_only",
        "description": "Look up one order by its number.",
        "owner_role": "orders_platform",
        "domain": "orders",
        "intents": ["support.refund"],
        "required_claims": [],
        "requires_approval_gate": None,
        "requires_idempotency_key": False,
        "stopped": None,
    },
)
KILL_SWITCH = OpenApiExample(
    "A thrown switch",
    response_only=True,
    value={
        "switch_id": "kill_01k9zq7w8x5e3m2n4p6r8t0v2w4y6c",
        "scope": "capability",
        "id": "payments.issue_refund",
        "reason": "Refunds are booked twice; incident 311.",
        "thrown_by": _PERSON["user_id"],
        "thrown_at": _TIME,
        "lifted_by": "",
        "lifted_at": None,
        "lift_reason": "",
        "is_thrown": True,
    },
)
