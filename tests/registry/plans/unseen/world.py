"""A parcel shop: its pack, its run, and one sound step per capability."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]


def _object(required: list[str], **properties: Any) -> Document:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required,
    }


TEXT = {"type": "string", "minLength": 1}
CAPABILITIES: list[Document] = [
    {
        "capability_id": "crm.find_customer",
        "adapter_id": "adp_crm",
        "capability_class": "recall",
        "approval_mode": "read_only",
        "evidence_keys": ["customer_id"],
        "input_schema": _object(["email"], email={"type": "string", "pattern": "^[^@]+@[^@]+$"}),
    },
    {
        "capability_id": "crm.update_address",
        "adapter_id": "adp_crm",
        "capability_class": "act",
        "approval_mode": "local_write",
        "input_schema": _object(["customer_id", "line1"], customer_id=TEXT, line1=TEXT),
    },
    {
        "capability_id": "carrier.quote",
        "adapter_id": "adp_carrier_api",
        "capability_class": "verify",
        "approval_mode": "network",
        "evidence_keys": ["quote_id"],
        "input_schema": _object(
            ["parcel_kg"], parcel_kg={"type": "number", "minimum": 0.1, "maximum": 30}
        ),
    },
    {
        "capability_id": "carrier.book_pickup",
        "adapter_id": "adp_carrier_api",
        "capability_class": "act",
        "approval_mode": "delegated",
        "decision_bindings": ["shipping.book"],
        "evidence_keys": ["booking_id"],
        "input_schema": _object(
            ["customer_id", "slot", "parcel_kg", "idempotency_key"],
            customer_id=TEXT,
            slot={"enum": ["am", "pm"]},
            parcel_kg={"type": "number", "minimum": 0.1, "maximum": 30},
            idempotency_key={"type": "string", "pattern": "^bk-[0-9]{6}$"},
        ),
    },
    {
        "capability_id": "carrier.cancel_pickup",
        "adapter_id": "adp_carrier_api",
        "capability_class": "act",
        "approval_mode": "destructive",
        "requires_approval_gate": "GATE_SHIPPING",
        "decision_bindings": ["shipping.cancel", "decision.shipping.refund"],
        "idempotency": {"required": True},
        "input_schema": _object(["booking_id"], booking_id=TEXT, fee={"type": "number"}),
    },
    {
        "capability_id": "text.summarise",
        "adapter_id": "adp_text",
        "capability_class": "think_support",
        "approval_mode": "read_only",
        "evidence_keys": [],
        "input_schema": _object(["text"], text={"type": "string"}, limit={"type": "integer"}),
    },
    {
        "capability_id": "stock.reserve",
        "adapter_id": "adp_stock_mcp",
        "capability_class": "act",
        "approval_mode": "network",
        "input_schema": _object(["sku", "qty"], sku=TEXT, qty={"type": "integer", "minimum": 1}),
    },
    {
        "capability_id": "legacy.export",
        "adapter_id": "adp_legacy",
        "capability_class": "observe",
        "approval_mode": "read_only",
        "state": "quarantined",
    },
    {
        "capability_id": "legacy.purge",
        "adapter_id": "adp_legacy",
        "capability_class": "act",
        "approval_mode": "destructive",
        "state": "disabled",
    },
]


def grant(adapter_id: str, capability: str, **more: Any) -> Document:
    return {
        "permission_id": f"perm_{capability}",
        "adapter_id": adapter_id,
        "capability": capability,
        "allow": True,
        **more,
    }


PERMISSIONS: list[Document] = [
    grant("adp_crm", "find_customer", approval_mode="read_only"),
    grant("adp_crm", "update_address", approval_mode="local_write"),
    grant("adp_crm", "update_address", permission_id="no", allow=False, roles=["intern"]),
    grant("adp_carrier", "quote", approval_mode="network"),
    grant(
        "adp_carrier_api",
        "book_pickup",
        approval_mode="delegated",
        roles=["dispatcher"],
        intents=["shipping.dispatch"],
        environments=["production", "staging"],
        arg_constraints={
            "parcel_kg": {"min": 1, "max": 20},
            "idempotency_key": {"required": True, "pattern": "^bk-"},
        },
        decision_binding="decision.shipping.book",
    ),
    grant("adp_carrier_api", "cancel_pickup", approval_mode="delegated"),
    grant("adp_text", "summarise", approval_mode="read_only"),
    grant("adp_stock_mcp", "reserve", approval_mode="network"),
    grant("adp_legacy", "export", approval_mode="read_only"),
    grant("adp_legacy", "purge", approval_mode="destructive"),
]
CHECK_SKILL: Document = {
    "skill_id": "skill.shipping.check",
    "version": "2.1.0",
    "required_capabilities": [
        {"capability_class": "recall", "name": "adp_crm.find_customer"},
        {"capability_class": "verify", "name": "adp_carrier.quote"},
    ],
    "preconditions": ["request.context.customer_id is present"],
}
NOTE_SKILL: Document = {
    "skill_id": "skill.shipping.note",
    "version": "1.0.0",
    "required_capabilities": ["text.summarise", "crm.update_address"],
    "preconditions": ["run_context.intent == shipping.dispatch"],
}
ALIASES: Document = {
    "mcp_crm_find": {
        "capability_id": "crm.find_customer",
        "source": "cached_discovery",
        "operator_pinned": True,
    },
    "mcp_carrier_quote": {
        "capability_id": "carrier.quote",
        "source": "cached_discovery",
        "operator_pinned": True,
    },
}
CHEAP_CANCEL: Document = {
    "capability_id": "carrier.cancel_pickup",
    "when": {"fee": {"max": 50}},
    "effective_mode": "delegated",
}
RUN: Document = {
    "role": "dispatcher",
    "environment": "production",
    "safety_mode": "destructive",
    "context": {"customer_id": "c1", "tier": "gold", "tags": ["vip", "eu"], "age": 30},
}


def pack(**changes: Any) -> Document:
    return copy.deepcopy(
        {
            "pack_id": "shipping",
            "permissions": PERMISSIONS,
            "capabilities": CAPABILITIES,
            "skills": [CHECK_SKILL, NOTE_SKILL],
            "cached_aliases": ALIASES,
            "effective_mode_policy": [CHEAP_CANCEL],
            **changes,
        }
    )


def without(capability: str) -> list[Document]:
    """The permissions without those of one operation."""
    return [item for item in PERMISSIONS if item["capability"] != capability]


def undeclared(capability_id: str) -> list[Document]:
    """The capabilities without one."""
    return [item for item in CAPABILITIES if item["capability_id"] != capability_id]


def skill(*preconditions: str, required: list[Any] | None = None) -> Document:
    """The pack with one skill under these conditions."""
    document = {
        "skill_id": "skill.try",
        "version": "1.0.0",
        "required_capabilities": ["text.summarise"] if required is None else required,
        "preconditions": list(preconditions),
    }
    return pack(skills=[document])


# -- steps ---------------------------------------------------------------------------------------


def step(step_id: str, capability_id: str, args: Any, **more: Any) -> Document:
    return {"step_id": step_id, "capability_id": capability_id, "args": args, **more}


def find(step_id: str = "f", email: Any = "a@b", **more: Any) -> Document:
    return {**step(step_id, "crm.find_customer", {"email": email}), **more}


def update(step_id: str = "u", **more: Any) -> Document:
    args = {"customer_id": "c1", "line1": "1 High St"}
    return {**step(step_id, "crm.update_address", args, idempotency_key="k-1"), **more}


def quote(step_id: str = "q", kg: Any = 5, **more: Any) -> Document:
    return {**step(step_id, "carrier.quote", {"parcel_kg": kg}), **more}


def book(step_id: str = "b", kg: Any = 5, **more: Any) -> Document:
    args = {"customer_id": "c1", "slot": "am", "parcel_kg": kg}
    return {**step(step_id, "carrier.book_pickup", args, idempotency_key="bk-000001"), **more}


def cancel(step_id: str = "c", fee: Any = 10, **more: Any) -> Document:
    args = {"booking_id": "x1"} if fee is None else {"booking_id": "x1", "fee": fee}
    return {**step(step_id, "carrier.cancel_pickup", args, idempotency_key="k-9"), **more}


def summarise(step_id: str = "t", **more: Any) -> Document:
    return {**step(step_id, "text.summarise", {"text": "hi"}), **more}


def reserve(step_id: str = "r", **more: Any) -> Document:
    args = {"sku": "S1", "qty": 1}
    return {**step(step_id, "stock.reserve", args, idempotency_key="k-3"), **more}


def use(skill_id: str, step_id: str = "s", **more: Any) -> Document:
    return {"step_id": step_id, "skill_id": skill_id, "args": {}, **more}


# -- a plan with its prediction ------------------------------------------------------------------

SHORT = {
    "r": "read_only",
    "l": "local_write",
    "n": "network",
    "d": "delegated",
    "x": "destructive",
}


@dataclass(frozen=True)
class Case:
    """What is tried, and what was said about it before it ran.

    `codes` holds `step: code code`, `modes` `step=letter`, `expanded` `step:capability`.
    """

    title: str
    steps: list[Document]
    verdict: str
    codes: str = ""
    modes: str = ""
    approvals: str = ""
    expanded: str | None = None
    pack: Document = field(default_factory=pack)
    run: Document | None = field(default_factory=lambda: dict(RUN))
    intent: str = "shipping.dispatch"
    intent_mode: str = "execute"

    @property
    def plan(self) -> Document:
        return {
            "plan_id": "p1",
            "intent": self.intent,
            "intent_mode": self.intent_mode,
            "steps": self.steps,
        }

    @property
    def predicted(self) -> Document:
        """The prediction in the form it is compared in."""
        own = " ".join(f"{item['step_id']}:{item.get('capability_id')}" for item in self.steps)
        return {
            "verdict": self.verdict,
            "codes": sorted(self.codes.split()),
            "modes": {
                name: SHORT[letter]
                for name, _, letter in (item.partition("=") for item in self.modes.split())
            },
            "approvals": sorted(self.approvals.split()),
            "expanded": (own if self.expanded is None else self.expanded).split(),
        }


def told(verdict: Document) -> Document:
    """An answer in the form it is compared in."""
    return {
        "verdict": verdict["verdict"],
        "codes": sorted(f"{item['step_id']}:{item['code']}" for item in verdict["findings"]),
        "modes": verdict["effective_modes"],
        "approvals": sorted(verdict["approval_required_steps"]),
        "expanded": [
            f"{item['step_id']}:{item['capability_id']}" for item in verdict["expanded_steps"]
        ],
    }
