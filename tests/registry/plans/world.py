"""A small pack and the builders of plans against it; each test changes what it is about."""

from __future__ import annotations

import copy
from typing import Any

from registry.plans import PlanVerdict, verify_plan

KEY = "ik_2x9k4j7m1q8w0p3z"

REFUND: dict[str, Any] = {
    "capability_id": "payments.issue_refund",
    "adapter_id": "adp_payments_mcp",
    "capability_class": "act",
    "approval_mode": "destructive",
    "decision_bindings": ["support.refund.execute"],
    "requires_approval_gate": "GATE_FINANCE_APPROVAL",
    "idempotency": {"required": True, "dedup_window_seconds": 86400},
    "arg_constraints": {
        "amount_inr": {"min": 1, "max": 50000},
        "currency": {"enum": ["INR"]},
    },
    "evidence_keys": ["refund_id", "transaction_id", "reversal_token"],
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "transaction_id": {"type": "string", "pattern": "^txn_[a-z0-9]+$"},
            "amount_inr": {"type": "number", "minimum": 1, "maximum": 50000},
            "currency": {"type": "string", "enum": ["INR"]},
            "reason_code": {"type": "string", "enum": ["duplicate", "customer_request"]},
            "idempotency_key": {"type": "string", "pattern": "^ik_[a-z0-9]{16}$"},
        },
        "required": [
            "transaction_id",
            "amount_inr",
            "currency",
            "reason_code",
            "idempotency_key",
        ],
    },
}
LOOKUP: dict[str, Any] = {
    "capability_id": "payments.lookup_transaction",
    "adapter_id": "adp_payments_mcp",
    "capability_class": "observe",
    "approval_mode": "read_only",
    "decision_bindings": ["support.refund.eligibility"],
    "evidence_keys": ["transaction_id", "status"],
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"transaction_id": {"type": "string", "pattern": "^txn_[a-z0-9]+$"}},
        "required": ["transaction_id"],
    },
}
ORDERS: dict[str, Any] = {
    "capability_id": "orders.lookup",
    "adapter_id": "adp_orders",
    "capability_class": "observe",
    "approval_mode": "read_only",
    "evidence_keys": ["order_lookup"],
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    },
}
VERIFY: dict[str, Any] = {
    "capability_id": "idv.verify",
    "adapter_id": "adp_idv",
    "capability_class": "verify",
    "approval_mode": "network",
    "evidence_keys": ["idv.verified"],
}
NOTE: dict[str, Any] = {
    "capability_id": "notes.append",
    "adapter_id": "adp_notes",
    "capability_class": "act",
    "approval_mode": "local_write",
    "evidence_keys": [],
}
SUM: dict[str, Any] = {
    "capability_id": "extract.entities",
    "adapter_id": "adp_extract",
    "capability_class": "think_support",
    "approval_mode": "read_only",
    "evidence_keys": [],
}


def permission(capability: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The grant of a capability, in the form of the seeds."""
    return {
        "permission_id": f"perm_{capability['capability_id'].replace('.', '_')}",
        "adapter_id": capability["adapter_id"],
        "capability": capability["capability_id"].partition(".")[2],
        "allow": True,
        "approval_mode": capability["approval_mode"],
        **changes,
    }


REFUND_PERMISSION = permission(
    REFUND,
    adapter_id="adp_payments",
    arg_constraints={
        "amount_inr": {"min": 1, "max": 20000},
        "currency": {"enum": ["INR"]},
        "idempotency_key": {"required": True, "pattern": "^ik_[a-z0-9]{16}$"},
    },
    decision_binding="decision.support.refund.execute",
)
IDENTITY = {
    "skill_id": "skill.support.identity_verification",
    "version": "1.2.0",
    "required_capabilities": [
        {"capability_class": "verify", "name": "adp_idv.verify"},
        {"capability_class": "observe", "name": "adp_orders.lookup"},
    ],
    "preconditions": ["request.context.customer_id is present"],
    "postconditions": ["evidence_refs includes idv.verified"],
}
EVIDENCE = {
    "skill_id": "skill.support.refund_evidence",
    "version": "1.0.0",
    "required_capabilities": ["orders.lookup", "payments.lookup_transaction"],
    "preconditions": ["run_context.intent == support.refund"],
}
LOOKUP_ALIAS = {
    "capability_id": "payments.lookup_transaction",
    "source": "cached_discovery",
    "operator_pinned": True,
}


def pack(**changes: Any) -> dict[str, Any]:
    """A pack that permits everything it declares."""
    capabilities = [REFUND, LOOKUP, ORDERS, VERIFY, NOTE, SUM]
    document = {
        "pack_id": "support_refund",
        "permissions": [REFUND_PERMISSION, *(permission(item) for item in capabilities[1:])],
        "capabilities": capabilities,
        "skills": [IDENTITY, EVIDENCE],
        "cached_aliases": {"mcp_payments_lookup_transaction": LOOKUP_ALIAS},
        "effective_mode_policy": [],
    }
    return copy.deepcopy({**document, **changes})


def with_capability(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The usual pack, with one capability changed."""
    changed = {**base, **changes}
    return pack(
        capabilities=[
            changed if item["capability_id"] == base["capability_id"] else item
            for item in pack()["capabilities"]
        ]
    )


def with_refund_permission(*more: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The usual pack, with the refund's permission changed and perhaps others beside it."""
    rest = [item for item in pack()["permissions"] if item["capability"] != "issue_refund"]
    return pack(permissions=[{**REFUND_PERMISSION, **changes}, *more, *rest])


REFUND_ARGS = {
    "transaction_id": "txn_4200",
    "amount_inr": 4200,
    "currency": "INR",
    "reason_code": "duplicate",
}


def refund(step_id: str = "s1", *, args: Any = None, **changes: Any) -> dict[str, Any]:
    """A refund step in which everything is right."""
    step = {
        "step_id": step_id,
        "capability_id": "payments.issue_refund",
        "args": REFUND_ARGS if args is None else args,
        "idempotency_key": KEY,
        **changes,
    }
    return {name: value for name, value in step.items() if value is not Ellipsis}


def lookup(step_id: str = "s1", **changes: Any) -> dict[str, Any]:
    """A lookup step in which everything is right."""
    return {
        "step_id": step_id,
        "capability_id": "payments.lookup_transaction",
        "args": {"transaction_id": "txn_4200"},
        **changes,
    }


def step(step_id: str, capability_id: str, **changes: Any) -> dict[str, Any]:
    """Any other step."""
    return {"step_id": step_id, "capability_id": capability_id, "args": {}, **changes}


def skill_step(skill_id: str, step_id: str = "s1", **changes: Any) -> dict[str, Any]:
    """A step that names a skill."""
    return {"step_id": step_id, "skill_id": skill_id, "args": {}, **changes}


def plan(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A plan of these steps."""
    return {
        "plan_id": "plan_1",
        "intent": "support.refund",
        "intent_mode": "execute",
        "steps": list(steps),
        **changes,
    }


def judge(
    document: dict[str, Any], against: dict[str, Any] | None = None, run: Any = None
) -> PlanVerdict:
    """The verdict on a plan, against the usual pack unless told otherwise."""
    return verify_plan(document, pack() if against is None else against, run)


def codes(verdict: PlanVerdict, step_id: str | None = None) -> list[str]:
    """The codes found, of one step or of all, in their order."""
    return [f.code for f in verdict.findings if step_id in (None, f.step_id)]


NO_REFUND = pack(permissions=pack()["permissions"][1:])
OTHER_KEY = "ik_aaaaaaaaaaaaaaaa"

# What is tried, plan, pack (None: the usual one), run, and the codes expected, in order.
Row = tuple[str, dict[str, Any], dict[str, Any] | None, Any, list[str]]


def lowering(mode: str, **when: Any) -> dict[str, Any]:
    """The usual pack with a policy that lowers the refund's mode within bounds."""
    when = when or {"amount_inr": {"max": 5000}}
    entry = {"capability_id": "payments.issue_refund", "when": when, "effective_mode": mode}
    return pack(effective_mode_policy=[entry])


def refund_args(**changes: Any) -> dict[str, Any]:
    """The refund's arguments, changed; an ellipsis leaves one out."""
    merged = {**REFUND_ARGS, **changes}
    return {name: value for name, value in merged.items() if value is not Ellipsis}
