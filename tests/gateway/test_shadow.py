"""A policy in shadow is asked about every call and decides nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.models import ShadowVerdict
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry import documents
from tests.registry.walks import pack_walk, policy_walk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("function_runner")]


def _strict_bundle() -> dict[str, Any]:
    rule = {
        "rule_id": "no_lookups",
        "description": "Nobody looks anything up.",
        "applies_to": {"capability": "orders.lookup"},
        "if": {"==": [{"var": "request.args.order_id"}, "ord_0001"]},
        "then": {"allow": False},
    }
    return documents.bundle(version="2.0.0", rules=[rule], tests=[])


def _call(world: GatewayWorld, order: str) -> Any:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": order},
    }
    return world.post("/api/v1/tool-calls", body)


def test_a_shadow_policy_is_recorded_where_it_differs_and_decides_nothing() -> None:
    world = ready(GatewayWorld)
    policy_walk(world.house).published(_strict_bundle(), shadow=True)
    answer = _call(world, "ord_0001")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert _call(world, "ord_0002").status_code == 200
    verdict = ShadowVerdict.objects.get()
    assert verdict.decision_id == answer.json()["decision_id"]
    assert verdict.bundle_ref == "refunds@2.0.0"
    assert verdict.decided["allowed"] is True
    assert verdict.would_decide["allowed"] is False
    assert verdict.would_decide["matched_rule_ids"] == ["no_lookups"]


@pytest.mark.proves("C9")
def test_a_permission_may_ask_for_the_shape_of_a_key_that_the_schema_does_not_know() -> None:
    world = ready(GatewayWorld)
    permission = documents.permission(
        "adp_orders",
        "lookup",
        arg_constraints={"idempotency_key": {"required": True, "pattern": "^ik_[a-z0-9]{4}$"}},
    )
    pack = documents.pack_permitting(permission, pack_id="strict_keys")
    pack_walk(world.house).published(pack)
    run = world.open_run(context_pack_refs=["strict_keys@1.0.0"])
    body = {
        "run_id": run["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
    }

    def code(**key: str) -> Any:
        answer = world.post("/api/v1/tool-calls", {**body, **key}).json()
        return (answer.get("error") or {}).get("code")

    assert code() == "args.constraint"
    assert code(idempotency_key="ik_abcd\n") == "idempotency.malformed"
    assert code(idempotency_key="IK_abcd") == "args.constraint"
    assert code(idempotency_key="ik_abcd") is None


@pytest.mark.proves("C3")
def test_of_two_permissions_that_fit_the_wider_one_counts() -> None:
    world = ready(GatewayWorld, with_work=True)
    narrow = documents.permission(
        "adp_work", "add", permission_id="perm_read", approval_mode="read_only"
    )
    wide = documents.permission(
        "adp_work", "add", permission_id="perm_write", approval_mode="local_write"
    )
    pack_walk(world.house).published(documents.pack_permitting(narrow, wide, pack_id="two_ways"))
    run = world.open_run(context_pack_refs=["two_ways@1.0.0"])
    body = {
        "run_id": run["run_id"],
        "capability_id": "notes.add",
        "args": {"text": "x"},
        "idempotency_key": "ik_1",
    }
    assert world.post("/api/v1/tool-calls", body).status_code == 202
