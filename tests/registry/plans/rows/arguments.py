"""Arguments against schema and constraints: plans that earn a code, and near misses."""

from __future__ import annotations

from typing import Any

from tests.registry.plans.world import (
    KEY,
    LOOKUP,
    OTHER_KEY,
    REFUND,
    REFUND_PERMISSION,
    Row,
    lookup,
    pack,
    plan,
    refund,
    refund_args,
    step,
    with_capability,
    with_refund_permission,
)

SCHEMA: list[Row] = [
    ("missing", plan(refund(args=refund_args(reason_code=...))), None, None, ["args.schema"]),
    ("additional", plan(refund(args=refund_args(note="x"))), None, None, ["args.schema"]),
    ("enum", plan(refund(args=refund_args(reason_code="because"))), None, None, ["args.schema"]),
    ("pattern", plan(refund(args=refund_args(transaction_id="4200"))), None, None, ["args.schema"]),
    (
        "trailing newline",
        plan(lookup(args={"transaction_id": "txn_4200\n"})),
        None,
        None,
        ["args.schema"],
    ),
    ("no object", plan(lookup(args=["txn_4200"])), None, None, ["args.schema"]),
    ("text for arguments", plan(lookup(args="txn_4200")), None, None, ["args.schema"]),
    (
        "no arguments",
        plan({"step_id": "s1", "capability_id": "orders.lookup"}),
        None,
        None,
        ["args.schema"],
    ),
    ("two faults", plan(lookup(args={"x": 1})), None, None, ["args.schema", "args.schema"]),
    (
        "integer beyond 2^53",
        plan(step("s1", "extract.entities", args={"n": [2**53]})),
        None,
        None,
        ["args.schema"],
    ),
    (
        "unusable schema",
        plan(lookup()),
        with_capability(LOOKUP, input_schema={"type": "nonsense"}),
        None,
        ["args.schema"],
    ),
    (
        "schema with look-around",
        plan(lookup()),
        with_capability(LOOKUP, input_schema={"properties": {"a": {"pattern": "(?=a)b"}}}),
        None,
        ["args.schema"],
    ),
    (
        "null arguments where none are needed",
        plan(step("s1", "extract.entities", args=None)),
        None,
        None,
        [],
    ),
    (
        "largest safe integer",
        plan(step("s1", "extract.entities", args={"n": 2**53 - 1})),
        None,
        None,
        [],
    ),
    ("no schema", plan(step("s1", "extract.entities", args={"any": "thing"})), None, None, []),
    ("whole float", plan(refund(args=refund_args(amount_inr=4200.0))), None, None, []),
    (
        "schema by reference",
        plan(lookup(args={})),
        pack(
            capabilities=[{**LOOKUP, "input_schema": None, "input_schema_ref": "schema://l"}],
            schemas={"schema://l": LOOKUP["input_schema"]},
        ),
        None,
        ["args.schema"],
    ),
]

_RAISED = {"amount_inr": {"type": "number"}, "idempotency_key": {"type": "string"}}
LOOSE_SCHEMA = {"type": "object", "properties": _RAISED}


def _constrained(**constraints: Any) -> dict[str, Any]:
    changed = {**REFUND, "input_schema": LOOSE_SCHEMA, "arg_constraints": {}}
    return pack(
        capabilities=[changed],
        permissions=[{**REFUND_PERMISSION, "arg_constraints": constraints}],
    )


def _amount(value: Any) -> dict[str, Any]:
    return plan(refund(args={"amount_inr": value}))


BOUNDS = {"min": 1, "max": 20000}
CONSTRAINT: list[Row] = [
    (
        "above the permission",
        plan(refund(args=refund_args(amount_inr=20001))),
        None,
        None,
        ["args.constraint"],
    ),
    ("just above", _amount(20000.01), _constrained(amount_inr=BOUNDS), None, ["args.constraint"]),
    ("just below", _amount(0.99), _constrained(amount_inr=BOUNDS), None, ["args.constraint"]),
    ("negative", _amount(-1), _constrained(amount_inr=BOUNDS), None, ["args.constraint"]),
    (
        "above the manifest only",
        plan(refund(args={"amount_inr": 60000})),
        pack(
            capabilities=[{**REFUND, "input_schema": LOOSE_SCHEMA}],
            permissions=[{**REFUND_PERMISSION, "arg_constraints": {}}],
        ),
        None,
        ["args.constraint"],
    ),
    (
        "text for a number",
        plan(refund(args={"amount_inr": "4200"})),
        pack(
            capabilities=[{**REFUND, "input_schema": None, "arg_constraints": {}}],
            permissions=[{**REFUND_PERMISSION, "arg_constraints": {"amount_inr": BOUNDS}}],
        ),
        None,
        ["args.constraint"],
    ),
    (
        "true for a number",
        plan(refund(args={"amount_inr": True})),
        pack(
            capabilities=[{**REFUND, "input_schema": None, "arg_constraints": {}}],
            permissions=[{**REFUND_PERMISSION, "arg_constraints": {"amount_inr": BOUNDS}}],
        ),
        None,
        ["args.constraint"],
    ),
    ("enum", _amount(5), _constrained(amount_inr={"enum": [1, 2]}), None, ["args.constraint"]),
    (
        "required",
        plan(refund(args={})),
        _constrained(amount_inr={"required": True}),
        None,
        ["args.constraint"],
    ),
    (
        "nested path",
        plan(refund(args={"customer": {"tier": "bronze"}})),
        _constrained(**{"customer.tier": {"enum": ["gold"]}}),
        None,
        ["args.constraint"],
    ),
    ("unreadable constraint", _amount(5), _constrained(amount_inr=7), None, ["args.constraint"]),
    (
        "constraints of the wrong type",
        _amount(5),
        pack(
            capabilities=[{**REFUND, "input_schema": LOOSE_SCHEMA, "arg_constraints": {}}],
            permissions=[{**REFUND_PERMISSION, "arg_constraints": ["max"]}],
        ),
        None,
        ["args.constraint"],
    ),
    (
        "another key among the arguments",
        plan(refund(args=refund_args(idempotency_key=OTHER_KEY))),
        None,
        None,
        ["args.constraint"],
    ),
    ("at the minimum", _amount(1), _constrained(amount_inr=BOUNDS), None, []),
    ("at the maximum", _amount(20000), _constrained(amount_inr=BOUNDS), None, []),
    ("absent and not required", plan(refund(args={})), _constrained(amount_inr=BOUNDS), None, []),
    (
        "one of the enum, as a float",
        _amount(2.0),
        _constrained(amount_inr={"enum": [1, 2]}),
        None,
        [],
    ),
    (
        "nested path kept",
        plan(refund(args={"customer": {"tier": "gold"}})),
        _constrained(**{"customer.tier": {"enum": ["gold"]}}),
        None,
        [],
    ),
    (
        "the same key among the arguments",
        plan(refund(args=refund_args(idempotency_key=KEY))),
        None,
        None,
        [],
    ),
    (
        "a second grant with wider bounds",
        plan(refund(args=refund_args(amount_inr=30000))),
        with_refund_permission({**REFUND_PERMISSION, "arg_constraints": {}}),
        None,
        [],
    ),
]

TABLES: dict[str, list[Row]] = {
    "schema": SCHEMA,
    "constraint": CONSTRAINT,
}
