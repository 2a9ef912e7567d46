"""Modes and decisions: plans that earn a code, and near misses."""

from __future__ import annotations

from tests.registry.plans.world import (
    LOOKUP,
    REFUND,
    REFUND_PERMISSION,
    VERIFY,
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

MAXIMUM: list[Row] = [
    (
        "above",
        plan(lookup(approval_mode_requested="local_write")),
        None,
        None,
        ["mode.above_maximum"],
    ),
    (
        "far above",
        plan(lookup(approval_mode_requested="destructive")),
        None,
        None,
        ["mode.above_maximum"],
    ),
    (
        "one step above",
        plan(step("s1", "idv.verify", approval_mode_requested="delegated")),
        None,
        None,
        ["mode.above_maximum"],
    ),
    (
        "a policy can't raise what may be requested",
        plan(lookup(approval_mode_requested="network")),
        pack(
            effective_mode_policy=[
                {
                    "capability_id": "payments.lookup_transaction",
                    "when": {},
                    "effective_mode": "network",
                }
            ]
        ),
        None,
        ["mode.above_maximum"],
    ),
    ("equal", plan(refund(approval_mode_requested="destructive")), None, None, []),
    ("lower", plan(refund(approval_mode_requested="delegated")), None, None, []),
    ("lowest", plan(refund(approval_mode_requested="read_only")), None, None, []),
    ("not requested", plan(refund()), None, None, []),
    ("null", plan(refund(approval_mode_requested=None)), None, None, []),
]

UNKNOWN_MODE: list[Row] = [
    *[
        (
            f"requested {mode!r}",
            plan(refund(approval_mode_requested=mode)),
            None,
            None,
            ["mode.unknown"],
        )
        for mode in ["sudo", "DESTRUCTIVE", "read-only", "", 3, ["destructive"], {}]
    ],
    (
        "declared",
        plan(refund()),
        with_capability(REFUND, approval_mode="risky"),
        None,
        ["mode.unknown"],
    ),
    (
        "not declared",
        plan(refund()),
        with_capability(REFUND, approval_mode=None),
        None,
        ["mode.unknown"],
    ),
    (
        "in the permission",
        plan(refund()),
        with_refund_permission(approval_mode="any"),
        None,
        ["mode.unknown"],
    ),
    ("in the run", plan(refund()), None, {"safety_mode": "yolo"}, ["mode.unknown"]),
    ("in a policy that applies", plan(refund()), lowering("tiny"), None, ["mode.unknown"]),
    (
        "in a policy that does not apply",
        plan(refund()),
        lowering("tiny", amount_inr={"max": 1}),
        None,
        [],
    ),
    *[
        (f"requested {mode}", plan(refund(approval_mode_requested=mode)), None, None, [])
        for mode in ["read_only", "local_write", "network", "delegated", "destructive"]
    ],
]

PERMISSION_MODE: list[Row] = [
    (
        "no mode requested",
        plan(refund()),
        with_refund_permission(approval_mode="delegated"),
        None,
        ["mode.above_permission"],
    ),
    (
        "requested",
        plan(refund(approval_mode_requested="destructive")),
        with_refund_permission(approval_mode="delegated"),
        None,
        ["mode.above_permission"],
    ),
    (
        "a lower request keeps the maximum, which is above",
        plan(refund(approval_mode_requested="delegated")),
        with_refund_permission(approval_mode="delegated"),
        None,
        ["mode.above_permission"],
    ),
    (
        "network for read_only",
        plan(step("s1", "idv.verify")),
        pack(permissions=[permission(VERIFY, approval_mode="read_only")]),
        None,
        ["mode.above_permission"],
    ),
    (
        "lowered by policy to what the permission allows",
        plan(refund()),
        {
            **lowering("delegated"),
            "permissions": [{**REFUND_PERMISSION, "approval_mode": "delegated"}],
        },
        None,
        [],
    ),
    ("equal", plan(refund()), with_refund_permission(approval_mode="destructive"), None, []),
    (
        "permission above the maximum",
        plan(lookup()),
        pack(permissions=[permission(LOOKUP, approval_mode="destructive")]),
        None,
        [],
    ),
    (
        "permission says nothing",
        plan(refund()),
        with_refund_permission(approval_mode=None),
        None,
        [],
    ),
    (
        "a second grant reaches further",
        plan(refund()),
        with_refund_permission(REFUND_PERMISSION, approval_mode="network"),
        None,
        [],
    ),
]

SAFETY: list[Row] = [
    *[
        (f"safety {mode}", plan(refund()), None, {"safety_mode": mode}, ["mode.above_safety_mode"])
        for mode in ["read_only", "local_write", "network", "delegated"]
    ],
    (
        "a lower request does not help",
        plan(refund(approval_mode_requested="delegated")),
        None,
        {"safety_mode": "delegated"},
        ["mode.above_safety_mode"],
    ),
    (
        "network above local_write",
        plan(step("s1", "idv.verify")),
        None,
        {"safety_mode": "local_write"},
        ["mode.above_safety_mode"],
    ),
    ("equal", plan(refund()), None, {"safety_mode": "destructive"}, []),
    ("read under read_only", plan(lookup()), None, {"safety_mode": "read_only"}, []),
    ("not stated", plan(refund()), None, {}, []),
    (
        "lowered by policy",
        plan(refund()),
        lowering("delegated"),
        {"safety_mode": "delegated"},
        [],
    ),
    (
        "not lowered: the amount is out of the policy's bounds",
        plan(refund(args=refund_args(amount_inr=5001))),
        lowering("delegated"),
        {"safety_mode": "delegated"},
        ["mode.above_safety_mode"],
    ),
]

DECISION: list[Row] = [
    (
        "another decision",
        plan(refund(decision_binding="support.refund.eligibility")),
        None,
        None,
        ["decision.mismatch"],
    ),
    (
        "another decision, with the prefix",
        plan(refund(decision_binding="decision.support.refund.eligibility")),
        None,
        None,
        ["decision.mismatch"],
    ),
    (
        "other case",
        plan(refund(decision_binding="Support.Refund.Execute")),
        None,
        None,
        ["decision.mismatch"],
    ),
    (
        "the capability serves it, the permission does not",
        plan(refund(decision_binding="support.refund.execute")),
        with_refund_permission(decision_binding="decision.support.refund.other"),
        None,
        ["decision.mismatch"],
    ),
    (
        "the permission is bound to it, the capability does not serve it",
        plan(refund(decision_binding="support.refund.execute")),
        with_capability(REFUND, decision_bindings=["support.refund.other"]),
        None,
        ["decision.mismatch"],
    ),
    ("equal", plan(refund(decision_binding="support.refund.execute")), None, None, []),
    (
        "with the prefix",
        plan(refund(decision_binding="decision.support.refund.execute")),
        None,
        None,
        [],
    ),
    ("not stated", plan(refund()), None, None, []),
    (
        "nobody else states one",
        plan(step("s1", "extract.entities", decision_binding="anything")),
        None,
        None,
        [],
    ),
    (
        "a lone decision_binding",
        plan(refund(decision_binding="support.refund.execute")),
        with_capability(
            REFUND, decision_bindings=None, decision_binding="decision.support.refund.execute"
        ),
        None,
        [],
    ),
]

TABLES: dict[str, list[Row]] = {
    "maximum": MAXIMUM,
    "unknown mode": UNKNOWN_MODE,
    "permission mode": PERMISSION_MODE,
    "safety": SAFETY,
    "decision": DECISION,
}
