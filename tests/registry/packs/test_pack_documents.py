"""Context Pack documents: what stops publication, and what a checked one says."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from registry.packs import check_pack, parse_pack

PERMISSION: dict[str, Any] = {
    "permission_id": "perm_payments_refund_capped",
    "adapter_id": "adp_payments",
    "capability": "issue_refund",
    "allow": True,
    "approval_mode": "destructive",
    "arg_constraints": {
        "amount_inr": {"min": 1, "max": 50000},
        "currency": {"enum": ["INR"]},
        "idempotency_key": {"required": True, "pattern": "^ik_[a-z0-9]{16}$"},
    },
    "decision_binding": "decision.support.refund.execute",
    "roles": ["support_agent"],
    "intents": ["support.refund"],
    "environments": ["production", "development"],
}
SPEC = {
    "decision_key": "support.refund.execute",
    "version": "1.0.0",
    "owner_role": "support_ops",
    "required_evidence": ["transaction_lookup"],
    "allowed_outcomes": ["refunded", "declined"],
    "approval_mode": "destructive",
}
SKILL = {
    "skill_id": "skill.support.refund_evidence",
    "version": "1.0.0",
    "required_capabilities": ["orders.lookup", {"name": "adp_idv.verify"}],
    "preconditions": ["run_context.intent == support.refund"],
}
PACK: dict[str, Any] = {
    "pack_id": "support_refund",
    "version": "1.0.0",
    "owner_role": "support_ops",
    "intents": ["support.refund"],
    "tooling_layer": {"permissions": [PERMISSION]},
    "context_layer": {"resources": ["kb://returns"], "prompts": []},
    "policy_layer": {"bundle_refs": ["returns@1.0.0"]},
    "decision_layer": {"decision_specs": [SPEC]},
    "evaluation_layer": {"targets": {"utility": 0.9}, "golden_set_refs": ["goldenset://x"]},
    "skills": [SKILL],
}


def _with(path: str, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(PACK)
    place: Any = document
    *steps, last = path.split("/")
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if value is ...:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return document


FIRST = "tooling_layer/permissions/0"


@pytest.mark.proves("B10")
def test_a_complete_pack_is_read() -> None:
    pack = parse_pack(PACK)
    assert pack.ref == "support_refund@1.0.0"
    (permission,) = pack.permissions
    assert permission.allow is True
    assert permission.environments == {"production", "development"}
    assert pack.bundle_refs == ("returns@1.0.0",)
    assert pack.decision_specs[0].required_evidence == ("transaction_lookup",)
    assert [item.name for item in pack.skills[0].required] == ["orders.lookup", "adp_idv.verify"]
    assert pack.resources == ("kb://returns",)
    assert pack.digest == parse_pack(copy.deepcopy(PACK)).digest


def test_layers_beyond_the_tooling_are_optional_and_then_nothing_is_readable() -> None:
    least = {
        name: PACK[name]
        for name in ("pack_id", "version", "owner_role", "intents", "tooling_layer")
    }
    pack = parse_pack(least)
    assert (pack.resources, pack.prompts, pack.skills) == ((), (), ())


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        ("pack_id", ..., "/pack_id"),
        ("pack_id", "a@b", "/pack_id"),
        ("version", "1.0", "/version"),
        ("owner_role", ..., "/owner_role"),
        ("intents", [], "/intents"),
        ("intents", ["*"], "/intents/0"),
        ("tooling_layer", ..., "/tooling_layer"),
        (f"{FIRST}/permission_id", ..., f"/{FIRST}/permission_id"),
        (f"{FIRST}/adapter_id", ..., f"/{FIRST}/adapter_id"),
        (f"{FIRST}/allow", ..., f"/{FIRST}/allow"),
        (f"{FIRST}/allow", "true", f"/{FIRST}/allow"),
        (f"{FIRST}/capability", "*", f"/{FIRST}/capability"),
        (f"{FIRST}/capability", "issue_*", f"/{FIRST}/capability"),
        (f"{FIRST}/approval_mode", "sudo", f"/{FIRST}/approval_mode"),
        (f"{FIRST}/roles", [], f"/{FIRST}/roles"),
        (f"{FIRST}/roles", ["*"], f"/{FIRST}/roles/0"),
        (f"{FIRST}/intents", ["support.other"], f"/{FIRST}/intents"),
        (f"{FIRST}/environments", ["prod"], f"/{FIRST}/environments/0"),
        (f"{FIRST}/role", ["a"], f"/{FIRST}"),
        (f"{FIRST}/arg_constraints", {"x": {"maximum": 1}}, f"/{FIRST}/arg_constraints/x"),
        (f"{FIRST}/arg_constraints", {"x": {"min": 2, "max": 1}}, f"/{FIRST}/arg_constraints/x"),
        (
            f"{FIRST}/arg_constraints",
            {"x": {"pattern": "("}},
            f"/{FIRST}/arg_constraints/x/pattern",
        ),
        ("tooling_layer/permissions", [PERMISSION, PERMISSION], "/tooling_layer/permissions"),
        ("decision_layer/decision_specs", [SPEC, SPEC], "/decision_layer/decision_specs"),
        ("skills/0/preconditions", ["the customer is nice"], "/skills/0/preconditions/0"),
        ("skills/0/required_capabilities", [], "/skills/0/required_capabilities"),
        ("skills", [SKILL, SKILL], "/skills"),
        (f"{FIRST}/arg_constraints", {"x": {"max": 2**60}}, f"/{FIRST}/arg_constraints/x/max"),
    ],
)
def test_a_faulty_pack_is_refused_at_the_place(path: str, value: Any, pointer: str) -> None:
    document = _with(path, value)
    assert pointer in [problem.pointer for problem in check_pack(document)]
    with pytest.raises(ContextOSError) as refused:
        parse_pack(document)
    assert refused.value.code == "context_pack.invalid"
