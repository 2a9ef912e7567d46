"""Manifests that pass every blocking rule, to be spoilt by the tests that need a bad one."""

from __future__ import annotations

import copy
from typing import Any

Manifest = dict[str, Any]

ORDER_IN = "schema://orders.lookup.input.v1"
ORDER_OUT = "schema://orders.lookup.output.v1"
REFUND_IN = "schema://payments.issue_refund.input.v1"
REFUND_OUT = "schema://payments.issue_refund.output.v1"

_LOOKUP: dict[str, Any] = {
    "capability_id": "orders.lookup",
    "function_name": "examples.orders:lookup",
    "capability_class": "observe",
    "approval_mode": "read_only",
    "description": "Look up one order by its number.",
    "domain": "orders",
    "intents": ["support.refund"],
    "input_schema_ref": ORDER_IN,
    "output_schema_ref": ORDER_OUT,
    "evidence_keys": ["order_id"],
    "timeout_seconds": 5,
}
_ORDERS: Manifest = {
    "adapter_id": "adp_orders",
    "name": "Orders",
    "owner_role": "orders_platform",
    "protocol": "function",
    "protocol_version": "1.0",
    "environment": "production",
    "rollout_notes": "All at once: it only reads.",
    "rollback_notes": "Publish the version before.",
    "transport": {"kind": "function", "timeout_seconds": 5},
    "auth": {"type": "workload_identity", "token_audience": "orders", "resource": "orders"},
    "schemas": {
        ORDER_IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {"order_id": {"type": "string", "pattern": "^ord_[0-9]{4}$"}},
            "required": ["order_id"],
        },
        ORDER_OUT: {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "status": {"type": "string"}},
            "required": ["order_id", "status"],
        },
    },
    "capabilities": [_LOOKUP],
}
_REFUND: dict[str, Any] = {
    "capability_id": "payments.issue_refund",
    "function_name": "examples.payments:issue_refund",
    "capability_class": "act",
    "approval_mode": "destructive",
    "requires_approval_gate": "GATE_FINANCE_APPROVAL",
    "description": "Issue a refund against a settled transaction.",
    "input_schema_ref": REFUND_IN,
    "output_schema_ref": REFUND_OUT,
    "evidence_keys": ["refund_id"],
    "timeout_seconds": 5,
    "idempotency": {"required": True, "dedup_window_seconds": 86400, "adapter_dedup": True},
}


def orders(**changes: Any) -> Manifest:
    """A reading adapter without a block or a warning; keyword arguments replace members."""
    return {**copy.deepcopy(_ORDERS), **changes}


def many(count: int, **changes: Any) -> Manifest:
    """The same with `count` capabilities `orders.lookup_0`, `orders.lookup_1` ..."""
    listed = [{**_LOOKUP, "capability_id": f"orders.lookup_{n}"} for n in range(count)]
    return orders(capabilities=listed, **changes)


def refunds(**changes: Any) -> Manifest:
    """A destructive adapter: two people have to approve it."""
    manifest = orders(adapter_id="adp_payments", name="Payments", owner_role="payments_platform")
    manifest["schemas"] = {
        REFUND_IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "transaction_id": {"type": "string", "pattern": "^txn_[0-9]{4}$"},
                "amount_inr": {"type": "integer", "minimum": 1, "maximum": 50000},
                "idempotency_key": {"type": "string", "pattern": "^ik_[a-z0-9]{16}$"},
            },
            "required": ["transaction_id", "amount_inr", "idempotency_key"],
        },
        REFUND_OUT: {
            "type": "object",
            "properties": {"refund_id": {"type": "string"}},
            "required": ["refund_id"],
        },
    }
    manifest["capabilities"] = [copy.deepcopy(_REFUND)]
    return {**manifest, **changes}


def with_warning(**changes: Any) -> Manifest:
    """Passes, with exactly one warning: `auth.none_in_production`."""
    return orders(auth={"type": "none", "reason": "Public data."}, **changes)


def blocked(**changes: Any) -> Manifest:
    """Has a blocking finding: a capability without an approval mode."""
    capability = {name: value for name, value in _LOOKUP.items() if name != "approval_mode"}
    return orders(capabilities=[capability], **changes)


def narrower(**changes: Any) -> Manifest:
    """`orders()` with a tighter input: fewer order numbers are accepted."""
    manifest = orders(**changes)
    manifest["schemas"][ORDER_IN]["properties"]["order_id"]["maxLength"] = 8
    return manifest


def wider(**changes: Any) -> Manifest:
    """`orders()` with a looser input: anything is accepted as an order number."""
    manifest = orders(**changes)
    del manifest["schemas"][ORDER_IN]["properties"]["order_id"]["pattern"]
    return manifest
