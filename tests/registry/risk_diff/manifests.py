"""Manifests to diff: the payments example completed, and one that runs as a local process."""

import copy
from typing import Any

Manifest = dict[str, Any]

LOOKUP_IN = "schema://payments.lookup_transaction.input.v1"
LOOKUP_OUT = "schema://payments.lookup_transaction.output.v1"
REFUND_IN = "schema://payments.issue_refund.input.v1"
REFUND_OUT = "schema://payments.issue_refund.output.v1"
MONEY = "schema://payments.money.v1"

_REFUND_INPUT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "description": "What to refund.",
    "properties": {
        "transaction_id": {"type": "string", "pattern": "^txn_[a-z0-9]{4,12}$"},
        "amount_inr": {"$ref": MONEY},
        "currency": {"type": "string", "enum": ["INR"]},
        "reason_code": {
            "type": "string",
            "enum": ["duplicate", "customer_request", "service_failure"],
        },
        "note": {"type": "string", "minLength": 1, "maxLength": 200, "format": "email"},
        "idempotency_key": {"type": "string", "pattern": "^ik_[a-z0-9]{16}$"},
        "lines": {
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "uniqueItems": True,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer"}},
                "required": ["sku"],
            },
        },
        "labels": {
            "type": "object",
            "maxProperties": 5,
            "propertyNames": {"maxLength": 10},
            "patternProperties": {"^x_": {"type": "string"}},
            "additionalProperties": {"type": "integer", "maximum": 9},
        },
    },
    "required": ["transaction_id", "amount_inr", "currency", "reason_code", "idempotency_key"],
    "dependentRequired": {"note": ["reason_code"]},
    "anyOf": [{"required": ["note"]}, {"required": ["lines"]}, {"maxProperties": 6}],
    "not": {"required": ["test_mode"]},
}

_REFUND_OUTPUT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "refund_id": {"type": "string"},
        "status": {"type": "string", "enum": ["accepted", "queued", "rejected"]},
        "transaction_id": {"type": "string"},
        "reversal_token": {"type": "string"},
        "evidence_refs": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["refund_id", "status", "transaction_id", "evidence_refs"],
}

_PAYMENTS: Manifest = {
    "adapter_id": "adp_payments_mcp",
    "name": "Payments MCP Adapter",
    "owner_role": "payments_platform",
    "protocol": "mcp",
    "protocol_version": "2025-11-25",
    "environment": "production",
    "version": "1.0.0",
    "rollout_notes": "Ten per cent first.",
    "transport": {
        "kind": "streamable_http",
        "endpoint_ref": "https://payments.example.com/mcp",
        "origin_allowlist": ["https://contextos.example.com", "https://admin.example.com"],
        "timeout_seconds": 20,
        "session_binding": "user",
    },
    "server_capabilities": {
        "tools": {"listChanged": True},
        "resources": {"subscribe": False, "listChanged": True},
        "tasks": {"list": True, "cancel": True},
    },
    "auth": {
        "type": "oauth2",
        "resource": "https://payments.example.com/mcp",
        "initial_scopes": ["payments.read"],
        "step_up_scopes": {
            "payments.issue_refund": ["payments.refund.write", "payments.refund.notify"]
        },
        "token_audience": "payments-mcp",
        "allow_token_passthrough": False,
    },
    "schemas": {
        MONEY: {"type": "number", "minimum": 1, "maximum": 50000, "multipleOf": 2},
        LOOKUP_IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {"transaction_id": {"type": "string", "pattern": "^txn_[a-z0-9]+$"}},
            "required": ["transaction_id"],
        },
        LOOKUP_OUT: {
            "type": "object",
            "properties": {
                "transaction_id": {"type": "string"},
                "status": {"type": "string"},
                "settlement_ref": {"type": "string"},
            },
        },
        REFUND_IN: _REFUND_INPUT,
        REFUND_OUT: _REFUND_OUTPUT,
    },
    "capabilities": [
        {
            "capability_id": "payments.lookup_transaction",
            "mcp_tool_name": "payments_lookup_transaction",
            "capability_class": "observe",
            "approval_mode": "read_only",
            "description": "Look up one settled transaction.",
            "decision_bindings": ["support.refund.eligibility"],
            "input_schema_ref": LOOKUP_IN,
            "output_schema_ref": LOOKUP_OUT,
            "evidence_keys": ["transaction_id", "status", "settlement_ref"],
        },
        {
            "capability_id": "payments.issue_refund",
            "mcp_tool_name": "payments_issue_refund",
            "capability_class": "act",
            "approval_mode": "delegated",
            "title": "Issue refund",
            "description": "Issue a refund against an existing settled transaction.",
            "owner_role": "payments_refunds",
            "domain": "payments",
            "intents": ["support.refund", "support.dispute"],
            "tenants": ["tenant_acme_prod", "tenant_beta"],
            "required_claims": ["kyc", "mfa"],
            "decision_bindings": ["support.refund.execute", "support.dispute.close"],
            "requires_approval_gate": "GATE_FINANCE_APPROVAL",
            "policy_refs": ["POLICY_RETURNS_V4", "POLICY_LIMITS_V1"],
            "input_schema_ref": REFUND_IN,
            "output_schema_ref": REFUND_OUT,
            "idempotency": {
                "required": True,
                "dedup_window_seconds": 86400,
                "adapter_dedup": True,
                "status_capability": "payments.lookup_transaction",
            },
            "arg_constraints": {
                "amount_inr": {"min": 1, "max": 50000},
                "currency": {"enum": ["INR", "NPR"]},
                "idempotency_key": {"required": True, "pattern": "^ik_[a-z0-9]{16}$"},
            },
            "retry_policy": {
                "max_attempts": 2,
                "retryable_error_codes": ["UPSTREAM_TIMEOUT", "BUSY"],
                "requires_same_idempotency_key": True,
            },
            "rate_limit": {"max": 10, "per_seconds": 60},
            "timeout_seconds": 15,
            "execution": {
                "mode": "task",
                "cancellable": True,
                "poll_interval_seconds": 5,
                "ttl_seconds": 3600,
                "policy_refs": ["POLICY_TASKS"],
            },
            "errors": [
                {
                    "code": "UPSTREAM_TIMEOUT",
                    "kind": "timeout",
                    "retryable": True,
                    "remediation": "Try again later.",
                },
                {
                    "code": "NOT_SETTLED",
                    "kind": "validation",
                    "retryable": False,
                    "remediation": "Pick a settled transaction.",
                },
            ],
            "cost": {"reserve_cents": 50, "actual_pointer": "/cost"},
            "fallback_capability": "payments.lookup_transaction",
            "icons": [{"src": "https://payments.example.com/refund.png"}],
            "param_map": {"transaction_id": "path"},
            "evidence_keys": ["refund_id", "transaction_id", "reversal_token"],
        },
    ],
    "resources": [
        {
            "uri": "ledger://refunds",
            "name": "Refund ledger",
            "mimeType": "application/json",
            "size_bytes": 1000,
            "classification": "CONFIDENTIAL",
            "source": "ledger",
            "access": {"roles": ["finance", "audit"], "intents": ["support.refund"]},
            "freshness": {"kind": "etag", "field": "etag"},
            "evidence_ref": "ledger",
        }
    ],
    "resource_templates": [
        {
            "uri_template": "ledger://refunds/{year}/{region}",
            "classification": "INTERNAL",
            "parameter_constraints": {
                "year": {"pattern": "^20[0-9]{2}$"},
                "region": {"enum": ["in", "np"]},
            },
        }
    ],
    "prompts": [{"name": "refund_letter", "description": "Write a letter about a refund."}],
    "roots": [{"uri": "file:///srv/payments"}, {"uri": "file:///srv/shared"}],
    "sampling": {
        "declared": True,
        "purpose": "Classify complaints.",
        "tools_enabled": False,
        "budget": {
            "max_requests_per_run": 2,
            "max_iterations": 3,
            "max_output_tokens": 500,
            "max_cost_cents": 10,
        },
        "human_review": True,
        "traced": True,
        "evaluation_set_ref": "goldenset://complaints",
        "policy_refs": ["POLICY_SAMPLING"],
    },
    "elicitation": [
        {
            "elicitation_id": "confirm_reason",
            "mode": "form",
            "purpose": "Ask why.",
            "schema": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"reason": {"type": "string", "maxLength": 100}},
                "required": ["reason"],
            },
            "requires_user_consent": True,
            "user_may_decline": True,
            "rate_limit_per_run": 1,
            "state_binding": "session",
            "policy_refs": ["POLICY_ASK"],
        }
    ],
    "observability": {
        "trace_context": "w3c",
        "span_name_prefix": "contextos.adapter.payments",
        "metrics": ["latency_ms", "retry_count", "upstream_status", "cost_cents"],
    },
}

_LOCAL_TRANSPORT: dict[str, Any] = {
    "kind": "stdio",
    "command": ["python", "-m", "files_server"],
    "command_digest": "sha256:" + "a" * 64,
    "command_disclosed": True,
    "install_consent": {"required": True, "shown_to": ["owner", "admin"]},
    "sandbox": {"filesystem": ["/srv/files", "/srv/cache"], "network": "none"},
    "log_stream": "stderr",
    "launcher": "bubblewrap",
}

_AGENT_TRANSPORT: dict[str, Any] = {
    "kind": "a2a_jsonrpc",
    "endpoint_ref": "https://agent.example.com/a2a",
    "agent_card_ref": "https://agent.example.com/.well-known/agent-card.json",
    "agent_card_digest": "sha256:" + "b" * 64,
    "agent_card_signature": {"required": True, "algorithms": ["EdDSA"], "key_ids": ["k1"]},
}

_CUSTOM_TRANSPORT: dict[str, Any] = {
    "kind": "custom",
    "spec_digest": "sha256:" + "c" * 64,
    "framing": "length-prefixed",
    "auth": "mutual TLS",
    "replay": "by sequence number",
    "cancellation": "by message",
    "observation": "mirrored to the gateway",
}


def payments() -> Manifest:
    """The payments manifest, complete; a fresh copy each time."""
    return copy.deepcopy(_PAYMENTS)


def local() -> Manifest:
    """The same tools as a local process."""
    return {**payments(), "transport": copy.deepcopy(_LOCAL_TRANSPORT)}


def agent() -> Manifest:
    """The same tools behind another agent."""
    return {**payments(), "transport": copy.deepcopy(_AGENT_TRANSPORT)}


def custom() -> Manifest:
    """The same tools behind a connector of its own."""
    return {**payments(), "transport": copy.deepcopy(_CUSTOM_TRANSPORT)}
