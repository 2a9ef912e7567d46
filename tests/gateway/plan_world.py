"""A tenant whose runs may look up, note, quote, book and refund: what plans are checked against."""

from __future__ import annotations

import copy
from typing import Any

from tests.gateway.world import GatewayWorld
from tests.registry import documents
from tests.registry.manifests import Manifest, orders, refunds
from tests.registry.walks import pack_walk, policy_walk

KEY = "ik_2x9k4j7m1q8w0p3z"
_OUT = "schema://desk.output.v1"
_DESK: dict[str, dict[str, Any]] = {
    "desk.note": {
        "capability_class": "act",
        "approval_mode": "local_write",
        "idempotency": {"required": True, "dedup_window_seconds": 3600, "adapter_dedup": True},
    },
    "desk.quote": {"capability_class": "verify", "approval_mode": "network"},
    "desk.book": {
        "capability_class": "act",
        "approval_mode": "delegated",
        "decision_bindings": ["support.book"],
        "idempotency": {"required": True, "dedup_window_seconds": 3600, "adapter_dedup": True},
    },
    "desk.capped": {"capability_class": "verify", "approval_mode": "network"},
    "desk.weigh": {"capability_class": "observe", "approval_mode": "read_only"},
    "desk.rest": {"capability_class": "observe", "approval_mode": "read_only"},
    "desk.stop": {"capability_class": "observe", "approval_mode": "read_only"},
    "desk.never": {"capability_class": "observe", "approval_mode": "read_only"},
    "desk.hidden": {"capability_class": "observe", "approval_mode": "read_only"},
}


def desk(**changes: Any) -> Manifest:
    """A function adapter with one capability of every mode but the destructive."""
    manifest = orders(adapter_id="adp_desk_fn", name="Desk", owner_role="desk_platform")
    manifest["schemas"] = {
        _OUT: {"type": "object", "properties": {"desk_id": {"type": "string"}}},
        **{f"schema://{name}.input.v1": _input(name) for name in _DESK},
    }
    manifest["capabilities"] = [
        {
            "capability_id": name,
            "function_name": f"desk:{name.partition('.')[2]}",
            "description": f"What {name} does at the desk.",
            "input_schema_ref": f"schema://{name}.input.v1",
            "output_schema_ref": _OUT,
            "evidence_keys": ["desk_id"],
            "timeout_seconds": 5,
            **declared,
        }
        for name, declared in _DESK.items()
    ]
    return {**manifest, **changes}


def _input(name: str) -> dict[str, Any]:
    key = {"idempotency_key": {"type": "string"}} if "idempotency" in _DESK[name] else {}
    return {
        "type": "object",
        "title": name,
        "additionalProperties": False,
        "properties": {
            "text": {"type": "string"},
            "kg": {"type": "number", "minimum": 0, "maximum": 30},
            **key,
        },
    }


IDENTITY = {
    "skill_id": "skill.desk.check",
    "version": "1.2.0",
    "required_capabilities": [
        {"capability_class": "observe", "name": "adp_orders.lookup"},
        {"capability_class": "verify", "name": "adp_desk.quote"},
    ],
    "preconditions": ["request.context.customer_id is present"],
}
NOTING = {
    "skill_id": "skill.desk.noting",
    "version": "1.0.0",
    "required_capabilities": ["orders.lookup", "desk.note"],
    "preconditions": ["run_context.intent == support.refund"],
}


def _rule(rule_id: str, capability: str, condition: Any, then: dict[str, Any]) -> dict[str, Any]:
    return {
        "rule_id": rule_id,
        "description": "For the plan check.",
        "applies_to": {"capability": capability},
        "if": condition,
        "then": then,
    }


def _text_is(text: str) -> dict[str, Any]:
    return {"===": [{"var": "request.args.text"}, text]}


RULES = [
    _rule("never_this", "desk.never", True, {"allow": False}),
    _rule("no_secrets", "desk.note", _text_is("secret"), {"allow": False}),
    _rule(
        "legal_notes_are_read_first",
        "desk.note",
        _text_is("legal"),
        {"allow": True, "requires_approval_gate": "GATE_LEGAL"},
    ),
    _rule(
        "light_parcels_only",
        "desk.quote",
        True,
        {"allow": True, "arg_constraints": {"kg": {"max": 20}}, "prohibits": ["arg:text"]},
    ),
    _rule(
        "weighed_parcels_are_booked_at_once",
        "desk.book",
        {"in": ["desk_id", {"var": "evidence.keys"}]},
        {"allow": True, "approval_mode": "local_write"},
    ),
    _rule("say_what_is_weighed", "desk.weigh", True, {"allow": True, "requires": ["arg:text"]}),
]


def _permissions() -> list[dict[str, Any]]:
    apart = ("desk.hidden", "desk.capped")
    names = [name.partition(".")[2] for name in _DESK if name not in apart]
    return [
        *documents.pack()["tooling_layer"]["permissions"],
        *(documents.permission("adp_desk", name) for name in names),
        documents.permission("adp_desk_fn", "hidden", roles=["supervisor"]),
        documents.permission("adp_desk_fn", "capped", approval_mode="read_only"),
        documents.permission(
            "adp_desk_fn",
            "desk.stop",
            permission_id="no_stop",
            allow=False,
            intents=["support.refund"],
        ),
    ]


class PlanWorld(GatewayWorld):
    """The world of the gateway's tests with three adapters, skills and more rules."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.house.published(refunds())
        self.house.published(desk())
        policy = documents.bundle(version="1.1.0")
        policy["rules"] += copy.deepcopy(RULES)
        policy_walk(self.house).published(policy)
        pack = documents.pack_permitting(
            *_permissions(), version="1.1.0", skills=[IDENTITY, NOTING]
        )
        pack_walk(self.house).published(pack)

    def verify(self, run: dict[str, Any], *steps: dict[str, Any], **changes: Any) -> Any:
        """The answer to a plan of these steps."""
        plan = {
            "plan_id": "plan_1",
            "intent": "support.refund",
            "intent_mode": "execute",
            "steps": list(steps),
            **changes,
        }
        return self.post("/api/v1/plans/verify", {"run_id": run["run_id"], "plan": plan})


def step(step_id: str, capability_id: str, args: Any = None, **more: Any) -> dict[str, Any]:
    return {"step_id": step_id, "capability_id": capability_id, "args": args or {}, **more}


def lookup(step_id: str = "l", **more: Any) -> dict[str, Any]:
    return {**step(step_id, "orders.lookup", {"order_id": "ord_0001"}), **more}


def refund(step_id: str = "r", amount: Any = 1000, **more: Any) -> dict[str, Any]:
    args = {"transaction_id": "txn_0001", "amount_inr": amount}
    return {**step(step_id, "payments.issue_refund", args, idempotency_key=KEY), **more}


def note(step_id: str = "n", text: str = "hello", **more: Any) -> dict[str, Any]:
    return {**step(step_id, "desk.note", {"text": text}, idempotency_key="k1"), **more}


def book(step_id: str = "b", **more: Any) -> dict[str, Any]:
    return {**step(step_id, "desk.book", {"kg": 1}, idempotency_key="k1"), **more}


def use(skill_id: str, step_id: str = "s", **more: Any) -> dict[str, Any]:
    return {"step_id": step_id, "skill_id": skill_id, "args": {}, **more}
