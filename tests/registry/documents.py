"""Packs and policy bundles that pass every check, to be spoilt by the tests that need a bad one."""

from __future__ import annotations

import copy
from typing import Any

Document = dict[str, Any]

_PACK: Document = {
    "pack_id": "support_refund",
    "version": "1.0.0",
    "owner_role": "support_platform",
    "intents": ["support.refund"],
    "tooling_layer": {
        "permissions": [
            {
                "permission_id": "perm_lookup",
                "adapter_id": "adp_orders",
                "capability": "lookup",
                "allow": True,
                "approval_mode": "read_only",
                "roles": ["support_agent"],
                "intents": ["support.refund"],
                "environments": ["production"],
            },
            {
                "permission_id": "perm_refund",
                "adapter_id": "adp_payments",
                "capability": "issue_refund",
                "allow": True,
                "approval_mode": "destructive",
                "arg_constraints": {"amount_inr": {"max": 20000}},
                "roles": ["support_agent"],
                "intents": ["support.refund"],
                "environments": ["production"],
            },
        ]
    },
}
_BUNDLE: Document = {
    "bundle_id": "refunds",
    "version": "1.0.0",
    "priority": 100,
    "rules": [
        {
            "rule_id": "small_refund_lower",
            "description": "A small refund may run as a delegated call.",
            "applies_to": {"capability": "payments.issue_refund"},
            "if": {"<=": [{"var": "request.args.amount_inr"}, 1000]},
            "then": {"allow": True, "approval_mode": "delegated"},
        },
        {
            "rule_id": "refund_over_limit",
            "description": "Nobody refunds more than 50000.",
            "applies_to": {"capability": "payments.issue_refund"},
            "if": {">": [{"var": "request.args.amount_inr"}, 50000]},
            "then": {"allow": False},
        },
    ],
    "tests": [
        {
            "name": "a large refund is denied",
            "input": {
                "capability": {
                    "capability_id": "payments.issue_refund",
                    "adapter_id": "adp_payments",
                    "capability_class": "act",
                    "approval_mode": "destructive",
                    "requires_approval_gate": "GATE_FINANCE_APPROVAL",
                },
                "request": {"args": {"amount_inr": 60000}},
            },
            "expect": {"allowed": False, "matched_rule_ids": ["refund_over_limit"]},
        }
    ],
}


def pack(**changes: Any) -> Document:
    """A pack for the manifests `orders()` and `refunds()`; keywords replace members."""
    return {**copy.deepcopy(_PACK), **changes}


def pack_permitting(*permissions: Document, **changes: Any) -> Document:
    """The pack with these permissions instead."""
    return pack(tooling_layer={"permissions": list(permissions)}, **changes)


def permission(adapter_id: str, capability: str, **changes: Any) -> Document:
    """One grant without any restriction."""
    return {
        "permission_id": f"perm_{adapter_id}_{capability}",
        "adapter_id": adapter_id,
        "capability": capability,
        "allow": True,
        **changes,
    }


def bundle(**changes: Any) -> Document:
    """A bundle with one passing test."""
    return {**copy.deepcopy(_BUNDLE), **changes}


def failing_bundle(**changes: Any) -> Document:
    """A bundle whose own test fails."""
    document = bundle(**changes)
    document["tests"][0]["expect"] = {"allowed": True}
    return document


def refund_input(amount: int = 500, **changes: Any) -> Document:
    """What a refund of this amount brings before the policy."""
    return {
        "capability": copy.deepcopy(_BUNDLE["tests"][0]["input"]["capability"]),
        "request": {"args": {"amount_inr": amount}},
        **changes,
    }
