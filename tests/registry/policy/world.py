"""Bundles and inputs for the tests of policy; each test changes what it is about."""

from __future__ import annotations

from typing import Any

from registry.policy import PolicyDecision, PolicyInputs, compile_bundle, evaluate

GATE = "GATE_FINANCE_APPROVAL"
REFUND: dict[str, Any] = {
    "capability_id": "payments.issue_refund",
    "adapter_id": "adp_payments_mcp",
    "capability_class": "act",
    "approval_mode": "destructive",
    "requires_approval_gate": GATE,
    "protocol": "mcp",
}
RUN: dict[str, Any] = {
    "tenant_id": "tenant_acme_prod",
    "intent": "support.refund",
    "environment": "production",
}


def capability(mode: str, **changes: Any) -> dict[str, Any]:
    """A capability of a mode, of a class that fits it, without a gate."""
    kind = "observe" if mode in ("read_only", "network") else "act"
    return {
        **REFUND,
        "approval_mode": mode,
        "capability_class": kind,
        "requires_approval_gate": None,
        **changes,
    }


def inputs(**changes: Any) -> PolicyInputs:
    """The inputs of a permitted refund of 4200."""
    given: dict[str, Any] = {
        "capability": REFUND,
        "run": RUN,
        "args": {"amount_inr": 4200, "currency": "INR"},
        "permitted": True,
        **changes,
    }
    return PolicyInputs(**given)


def rule(
    rule_id: str = "R1", condition: Any = True, *, applies_to: Any = None, **then: Any
) -> dict[str, Any]:
    """A rule that allows unless told otherwise."""
    return {
        "rule_id": rule_id,
        "applies_to": applies_to or {},
        "if": condition,
        "then": {"allow": True, **then},
        "description": "for a test",
    }


def bundle(*rules: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A bundle of these rules."""
    return {
        "bundle_id": "returns",
        "version": "1.0.0",
        "priority": 100,
        "rules": list(rules),
        **changes,
    }


def decide(*bundles: dict[str, Any], given: PolicyInputs | None = None) -> PolicyDecision:
    """The decision of these bundles on the usual refund, unless told otherwise."""
    return evaluate(given or inputs(), [compile_bundle(document) for document in bundles])


def reading(path: str, operator: str, value: Any) -> dict[str, Any]:
    """A comparison of one fact."""
    return {operator: [{"var": path}, value]}
