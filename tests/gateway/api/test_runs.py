"""Runs: identity from tokens, packs and pins as of now, nothing wider than the token (C6, B11)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.models import AuditEvent
from contextos.core import strict_json
from contextos.core.clock import parse_time
from contextos.identity.services import set_run_limits
from registry.services.kill_switches import throw_switch
from registry.validation import compile_schema
from tests.architecture.source import ROOT
from tests.factories import SYSTEM, make_agent, make_agent_token, make_tenant
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld)


def _schema() -> Any:
    path = ROOT / "gateway" / "schemas" / "run-context.v1.schema.json"
    return compile_schema(strict_json.loads(path.read_bytes()), imported=False)


@pytest.mark.proves("C6")
def test_a_run_carries_who_acts_for_whom_and_what_it_is_pinned_to(world: GatewayWorld) -> None:
    answer = world.post(
        "/api/v1/runs", world.run_body(), delegation=world.user_token, traceparent=TRACE
    )
    run = answer.json()
    assert answer.status_code == 201
    assert _schema().errors(run) == ()
    assert [link["kind"] for link in run["principal_chain"]] == ["user", "agent"]
    assert run["agent"]["agent_id"] == world.agent.agent_id
    assert run["trace_id"] == TRACE.split("-")[1]
    assert run["context_pack_refs"] == ["support_refund@1.0.0"]
    assert run["pins"] == {"adp_orders": "1.0.0"}
    assert run["safety_mode"] == "destructive"
    assert answer.headers["Location"] == f"/api/v1/runs/{run['run_id']}"


def test_opening_a_run_is_recorded(world: GatewayWorld) -> None:
    run = world.open_run()
    event = AuditEvent.objects.get(action="run.opened", subject_id=run["run_id"])
    assert (event.actor_kind, event.actor_id) == ("agent", world.agent.agent_id)


def test_the_run_can_be_read_back_by_its_caller_alone(world: GatewayWorld) -> None:
    run = world.open_run()
    address = f"/api/v1/runs/{run['run_id']}"
    other = make_agent_token(make_agent(world.house.tenant, role="support_agent")).token
    assert world.get(address).json() == run
    assert world.get(address, token=other).status_code == 404
    assert world.get(address, delegation=world.user_token).status_code == 404


@pytest.mark.proves("C6")
@pytest.mark.parametrize(
    ("claim", "code"),
    [
        ({"agent": {"agent_id": "agent_other"}}, "run.claim_exceeds_token"),
        ({"agent": {"role": "platform_admin"}}, "run.claim_exceeds_token"),
        ({"agent": {"superpower": True}}, "run.claim_exceeds_token"),
        ({"user": {"user_id": "user_somebody"}}, "run.claim_exceeds_token"),
        ({"tenant_id": "tenant_other"}, "auth.tenant_mismatch"),
    ],
)
def test_a_body_that_claims_more_than_the_tokens_is_refused(
    world: GatewayWorld, claim: dict[str, Any], code: str
) -> None:
    answer = world.post("/api/v1/runs", world.run_body(**claim))
    assert (answer.status_code, answer.json()["code"]) == (403, code)


def test_a_body_that_repeats_the_tokens_is_fine(world: GatewayWorld) -> None:
    run = world.open_run(agent={"agent_id": world.agent.agent_id, "role": "support_agent"})
    assert run["agent"]["role"] == "support_agent"


@pytest.mark.proves("C6")
def test_a_safety_mode_above_the_token_is_refused() -> None:
    world = GatewayWorld(max_mode="network")
    assert world.open_run()["safety_mode"] == "network"
    assert world.open_run(safety_mode="read_only")["safety_mode"] == "read_only"
    answer = world.post("/api/v1/runs", world.run_body(safety_mode="destructive"))
    assert (answer.status_code, answer.json()["code"]) == (403, "run.mode_above_token")


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"intent": "nobody.serves_this"}, 403, "run.no_pack"),
        ({"context_pack_refs": ["support_refund@9.9.9"]}, 403, "pack.unknown"),
        ({"environment": "staging"}, 422, "run.environment_unknown"),
        ({"run_budget": {"max_calls": 10**9}}, 422, "run.budget_invalid"),
        ({"run_budget": {"expires_at": "2020-01-01T00:00:00Z"}}, 422, "run.budget_invalid"),
        ({"run_budget": {"expires_at": "tomorrow"}}, 422, "run.budget_invalid"),
        ({"surprise": 1}, 400, "request.invalid"),
        ({"intent": ""}, 400, "request.invalid"),
        ({"safety_mode": "reckless"}, 400, "request.invalid"),
        ({"context": []}, 400, "request.invalid"),
        ({"context": {"n": 2**53 + 1}}, 422, "json.integer_too_large"),
        ({"context": {"n": [2**64]}}, 422, "json.integer_too_large"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_its_reason(
    world: GatewayWorld, change: dict[str, Any], status: int, code: str
) -> None:
    answer = world.post("/api/v1/runs", world.run_body(**change))
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.json()


@pytest.mark.proves("C10")
def test_a_run_gets_the_budget_of_its_tenant_and_no_more(world: GatewayWorld) -> None:
    usual = world.open_run()["run_budget"]
    limits = {"run_max_calls": 7, "run_max_wall_seconds": 60, "run_lifetime_seconds": 120}
    set_run_limits(tenant_id=world.tenant_id, limits=limits, actor=SYSTEM)
    opened = world.open_run()
    budget = opened["run_budget"]
    assert (budget["max_calls"], budget["max_wall_ms"]) == (7, 60_000)
    assert budget["max_cost_cents"] == usual["max_cost_cents"]
    assert parse_time(budget["expires_at"]) <= timezone.now() + timedelta(seconds=120)
    wider = {"tenant_id": world.tenant_id, "intent": opened["intent"]}
    answer = world.post("/api/v1/runs", {**wider, "run_budget": {"max_calls": 8}})
    assert (answer.status_code, answer.json()["code"]) == (422, "run.budget_invalid")
    set_run_limits(tenant_id=world.tenant_id, limits=dict.fromkeys(limits), actor=SYSTEM)
    assert world.open_run()["run_budget"]["max_calls"] == usual["max_calls"]


def test_a_person_alone_cannot_open_a_run(world: GatewayWorld) -> None:
    answer = world.post("/api/v1/runs", world.run_body(), token=world.user_token)
    assert (answer.status_code, answer.json()["code"]) == (403, "run.agent_needed")


def test_an_agent_s_token_is_no_delegation(world: GatewayWorld) -> None:
    answer = world.post("/api/v1/runs", world.run_body(), delegation=world.agent_token)
    assert answer.status_code in {401, 403}


def test_a_stranger_s_tenant_has_no_such_run(world: GatewayWorld) -> None:
    run = world.open_run()
    stranger = make_agent_token(make_agent(make_tenant(), role="support_agent")).token
    assert world.get(f"/api/v1/runs/{run['run_id']}", token=stranger).status_code == 404


@pytest.mark.proves("B11")
def test_the_tool_manifest_is_exactly_what_the_run_may_call(world: GatewayWorld) -> None:
    run = world.open_run()
    manifest = world.get(f"/api/v1/runs/{run['run_id']}/tool-manifest").json()
    assert set(manifest) == {"run_id", "pack_refs", "capabilities", "hash"}
    assert [c["capability_id"] for c in manifest["capabilities"]] == ["orders.lookup"]
    assert set(manifest["capabilities"][0]) == {
        "capability_id",
        "adapter_id",
        "capability_class",
        "approval_mode",
        "description",
        "input_schema",
        "output_schema",
        "requires_idempotency_key",
    }


@pytest.mark.proves("B11")
def test_another_role_sees_nothing(world: GatewayWorld) -> None:
    other = make_agent_token(make_agent(world.house.tenant, role="marketing_agent")).token
    run = world.post("/api/v1/runs", world.run_body(), token=other).json()
    shown = world.get(f"/api/v1/runs/{run['run_id']}/tool-manifest", token=other).json()
    assert shown["capabilities"] == []


@pytest.mark.proves("B19")
def test_a_kill_switch_empties_the_manifest_at_once(world: GatewayWorld) -> None:
    run = world.open_run()
    address = f"/api/v1/runs/{run['run_id']}/tool-manifest"
    assert world.get(address).json()["capabilities"]
    throw_switch(
        tenant_id=world.tenant_id,
        scope="capability",
        target_id="orders.lookup",
        reason="It misbehaves.",
        actor=world.house.actor("operator"),
    )
    assert world.get(address).json()["capabilities"] == []


def test_a_run_stays_on_the_versions_it_was_opened_with(world: GatewayWorld) -> None:
    from tests.registry.manifests import orders

    first = world.open_run()
    world.house.published(orders(version="1.1.0"))
    second = world.open_run()
    assert first["pins"] == {"adp_orders": "1.0.0"}
    assert second["pins"] == {"adp_orders": "1.1.0"}
    shown = world.get(f"/api/v1/runs/{first['run_id']}/tool-manifest").json()
    assert [c["capability_id"] for c in shown["capabilities"]] == ["orders.lookup"]
