"""Unknown, stopped and aliased capabilities: plans that earn a code, and near misses."""

from __future__ import annotations

from typing import Any

from tests.registry.plans.world import (
    KEY,
    LOOKUP,
    LOOKUP_ALIAS,
    REFUND,
    Row,
    lookup,
    pack,
    plan,
    refund,
    step,
    with_capability,
)

WITHOUT_REFUND = [item for item in pack()["capabilities"] if item is not None][1:]
TWO_ADAPTERS = [
    REFUND,
    {**REFUND, "capability_id": "paying.issue_refund", "adapter_id": "adp_payments_api"},
]

UNKNOWN: list[Row] = [
    (
        "neither declared nor permitted",
        plan(step("s1", "payments.void")),
        None,
        None,
        ["permission.missing", "capability.unknown"],
    ),
    (
        "permitted and not declared",
        plan(refund(args={}, idempotency_key=KEY)),
        pack(capabilities=WITHOUT_REFUND),
        None,
        ["capability.unknown"],
    ),
    (
        "other case",
        plan(refund(capability_id="Payments.issue_refund")),
        None,
        None,
        ["permission.missing", "capability.unknown"],
    ),
    (
        "two adapters begin alike",
        plan(refund(capability_id="adp_payments.issue_refund")),
        pack(capabilities=TWO_ADAPTERS),
        None,
        ["capability.unknown"],
    ),
    (
        "no name",
        plan({"step_id": "s1", "args": {}}),
        None,
        None,
        ["permission.missing", "capability.unknown"],
    ),
    (
        "a name that is no text",
        plan({"step_id": "s1", "capability_id": 7, "args": {}}),
        None,
        None,
        ["permission.missing", "capability.unknown"],
    ),
    (
        "an alias nobody has cached",
        plan(step("s1", "mcp_payments_issue_refund")),
        None,
        None,
        ["permission.missing", "capability.unknown"],
    ),
    (
        "an alias from a live look",
        plan(lookup(capability_id="mcp_live")),
        pack(cached_aliases={"mcp_live": {**LOOKUP_ALIAS, "source": "live_discovery"}}),
        None,
        ["permission.missing", "capability.unknown"],
    ),
    ("exact adapter", plan(refund(capability_id="adp_payments_mcp.issue_refund")), None, None, []),
    (
        "single adapter that begins so",
        plan(lookup(capability_id="adp_payments.lookup_transaction")),
        None,
        None,
        [],
    ),
    ("own id", plan(lookup()), None, None, []),
    (
        "exact adapter id goes first",
        plan(refund(capability_id="adp_payments.issue_refund")),
        pack(capabilities=[{**REFUND, "adapter_id": "adp_payments"}, TWO_ADAPTERS[1]]),
        None,
        [],
    ),
    (
        "of two that begin alike one is disabled",
        plan(refund(capability_id="adp_payments.issue_refund")),
        pack(
            capabilities=[REFUND, {**TWO_ADAPTERS[1], "state": "disabled"}],
        ),
        None,
        [],
    ),
    (
        "no adapter named anywhere",
        plan(refund()),
        with_capability(REFUND, adapter_id=None),
        None,
        [],
    ),
]

STATE: list[Row] = [
    *[
        (f"state {state}", plan(refund()), with_capability(REFUND, state=state), None, expected)
        for state, expected in [
            ("quarantined", ["capability.quarantined"]),
            ("disabled", ["capability.disabled"]),
            ("killed", ["capability.disabled"]),
            ("retired", ["capability.disabled"]),
            ("draft", ["capability.disabled"]),
            ("Quarantined", ["capability.disabled"]),
            (["quarantined"], ["capability.disabled"]),
            ("active", []),
            ("published", []),
            ("deprecated", []),
            (None, []),
        ]
    ],
    (
        "another capability is quarantined",
        plan(refund()),
        with_capability(LOOKUP, state="quarantined"),
        None,
        [],
    ),
    (
        "a read that is quarantined",
        plan(lookup()),
        with_capability(LOOKUP, state="quarantined"),
        None,
        ["capability.quarantined"],
    ),
    (
        "a part of a skill that is quarantined",
        plan({"step_id": "s1", "skill_id": "skill.support.refund_evidence"}),
        with_capability(LOOKUP, state="quarantined"),
        None,
        ["capability.quarantined"],
    ),
    (
        "quarantined, called by its alias",
        plan(lookup(capability_id="mcp_payments_lookup_transaction")),
        with_capability(LOOKUP, state="quarantined"),
        None,
        ["capability.quarantined"],
    ),
]


ALIAS = "mcp_payments_lookup_transaction"


def _alias(target: str, **changes: Any) -> dict[str, Any]:
    return pack(cached_aliases={"mcp_x": {**LOOKUP_ALIAS, "capability_id": target, **changes}})


ALIASES: list[Row] = [
    (
        "destructive",
        plan(refund(capability_id="mcp_x")),
        _alias("payments.issue_refund"),
        None,
        ["alias.not_read_only"],
    ),
    (
        "local write",
        plan(step("s1", "mcp_x", idempotency_key="k")),
        _alias("notes.append"),
        None,
        ["alias.not_read_only"],
    ),
    ("network", plan(step("s1", "mcp_x")), _alias("idv.verify"), None, ["alias.not_read_only"]),
    (
        "lowered by policy and still not read_only by declaration",
        plan(step("s1", "mcp_x")),
        {
            **_alias("idv.verify"),
            "effective_mode_policy": [
                {"capability_id": "idv.verify", "when": {}, "effective_mode": "read_only"}
            ],
        },
        None,
        ["alias.not_read_only"],
    ),
    ("read_only", plan(lookup(capability_id=ALIAS)), None, None, []),
    ("think_support", plan(step("s1", "mcp_x")), _alias("extract.entities"), None, []),
    (
        "earned by use",
        plan(lookup(capability_id="mcp_x")),
        _alias("payments.lookup_transaction", operator_pinned=False),
        None,
        [],
    ),
    (
        "target spelt by adapter",
        plan(lookup(capability_id="mcp_x")),
        _alias("adp_payments.lookup_transaction"),
        None,
        [],
    ),
    (
        "an alias hides no missing permission",
        plan(lookup(capability_id=ALIAS)),
        pack(permissions=[]),
        None,
        ["permission.missing"],
    ),
    (
        "an alias to nothing",
        plan(lookup(capability_id="mcp_x")),
        _alias("payments.nothing"),
        None,
        ["permission.missing", "capability.unknown"],
    ),
]

TABLES: dict[str, list[Row]] = {
    "unknown": UNKNOWN,
    "state": STATE,
    "aliases": ALIASES,
}
