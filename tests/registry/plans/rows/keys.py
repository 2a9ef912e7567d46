"""Idempotency keys: missing, malformed, reused: plans that earn a code, and near misses."""

from __future__ import annotations

from typing import Any

from tests.registry.plans.world import (
    KEY,
    LOOKUP,
    NOTE,
    OTHER_KEY,
    Row,
    lookup,
    lowering,
    pack,
    permission,
    plan,
    refund,
    refund_args,
    step,
    with_capability,
    with_refund_permission,
)

_KEYED_READ = pack(
    permissions=[permission(LOOKUP, arg_constraints={"idempotency_key": {"required": True}})]
)
MISSING_KEY: list[Row] = [
    ("act", plan(refund(idempotency_key=...)), None, None, ["idempotency.missing"]),
    ("null", plan(refund(idempotency_key=None)), None, None, ["idempotency.missing"]),
    ("blank", plan(refund(idempotency_key="")), None, None, ["idempotency.missing"]),
    ("local write", plan(step("s1", "notes.append")), None, None, ["idempotency.missing"]),
    (
        "network, but act",
        plan(step("s1", "notes.append")),
        pack(
            capabilities=[{**NOTE, "approval_mode": "network"}],
            permissions=[permission(NOTE, approval_mode="network")],
        ),
        None,
        ["idempotency.missing"],
    ),
    ("asked for by the permission", plan(lookup()), _KEYED_READ, None, ["idempotency.missing"]),
    (
        "asked for by the manifest",
        plan(lookup()),
        with_capability(LOOKUP, idempotency={"required": True}),
        None,
        ["idempotency.missing"],
    ),
    ("read only", plan(lookup()), None, None, []),
    ("network, and verify", plan(step("s1", "idv.verify")), None, None, []),
    (
        "given among the arguments",
        plan(refund(idempotency_key=..., args=refund_args(idempotency_key=KEY))),
        None,
        None,
        [],
    ),
    ("given beside them", plan(refund()), None, None, []),
    (
        "lowered to read-only by policy and still a write",
        plan(refund(idempotency_key=...)),
        lowering("delegated"),
        None,
        ["idempotency.missing"],
    ),
]

KEY_PATTERN: list[Row] = [
    *[
        (f"key {key!r}", plan(refund(idempotency_key=key)), None, None, ["idempotency.pattern"])
        for key in [
            "ik_short",
            KEY.upper(),
            KEY + "\n",
            " " + KEY,
            KEY + "z",
            "ik_" + "é" * 16,
            7,
            True,
            ["k"],
            {},
        ]
    ],
    (
        "pattern from the permission alone",
        plan(lookup(idempotency_key="bad")),
        pack(
            permissions=[
                permission(LOOKUP, arg_constraints={"idempotency_key": {"pattern": "^ik_"}})
            ]
        ),
        None,
        ["idempotency.pattern"],
    ),
    (
        "pattern from the schema alone",
        plan(refund(idempotency_key="bad")),
        with_refund_permission(arg_constraints={}),
        None,
        ["idempotency.pattern"],
    ),
    (
        "wrong form among the arguments",
        plan(refund(idempotency_key=..., args=refund_args(idempotency_key="bad"))),
        None,
        None,
        ["idempotency.pattern"],
    ),
    ("blank on a read", plan(lookup(idempotency_key=" ")), None, None, ["idempotency.pattern"]),
    ("right form", plan(refund()), None, None, []),
    (
        "no pattern anywhere",
        plan(step("s1", "notes.append", idempotency_key="anything goes")),
        None,
        None,
        [],
    ),
    ("sixteen zeros", plan(refund(idempotency_key="ik_0000000000000000")), None, None, []),
    ("an unasked key on a read", plan(lookup(idempotency_key="whatever")), None, None, []),
]


def _two(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return plan(first, second)


REUSED: list[Row] = [
    (
        "other arguments",
        _two(refund("s1"), refund("s2", args=refund_args(amount_inr=1))),
        None,
        None,
        ["idempotency.reused"],
    ),
    ("the same arguments", _two(refund("s1"), refund("s2")), None, None, ["idempotency.reused"]),
    (
        "once beside and once among the arguments",
        _two(
            refund("s1"), refund("s2", idempotency_key=..., args=refund_args(idempotency_key=KEY))
        ),
        None,
        None,
        ["idempotency.reused"],
    ),
    (
        "two spellings of one capability",
        _two(refund("s1"), refund("s2", capability_id="adp_payments.issue_refund")),
        None,
        None,
        ["idempotency.reused"],
    ),
    (
        "three times",
        plan(refund("s1"), refund("s2"), refund("s3")),
        None,
        None,
        ["idempotency.reused", "idempotency.reused"],
    ),
    ("two keys", _two(refund("s1"), refund("s2", idempotency_key=OTHER_KEY)), None, None, []),
    (
        "another capability: keys are kept per capability",
        _two(refund("s1"), step("s2", "notes.append", idempotency_key=KEY)),
        None,
        None,
        [],
    ),
    ("two reads without keys", _two(lookup("s1"), lookup("s2")), None, None, []),
    (
        "keys that differ by case",
        _two(
            step("s1", "notes.append", idempotency_key="k"),
            step("s2", "notes.append", idempotency_key="K"),
        ),
        None,
        None,
        [],
    ),
]

TABLES: dict[str, list[Row]] = {
    "missing key": MISSING_KEY,
    "key pattern": KEY_PATTERN,
    "reused": REUSED,
}
