"""A governed read from body to answer: the steps, the record, the replay, every refusal (C1-C6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.decisions import rows_of
from audit.models import DecisionRow
from audit.payloads import find_payload
from contextos.core import strict_json
from gateway.models import Evidence, Run, ToolCall
from registry.services.kill_switches import throw_switch
from registry.validation import compile_schema
from tests.architecture.source import ROOT
from tests.factories import make_agent, make_agent_token
from tests.gateway.order_functions import LEDGER
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry.manifests import orders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("function_runner")]
CALLS = "/api/v1/tool-calls"


@pytest.fixture
def world() -> GatewayWorld:
    LEDGER.unlink(missing_ok=True)
    return ready(GatewayWorld)


def _effects() -> int:
    return len(LEDGER.read_text().splitlines()) if LEDGER.exists() else 0


def _body(run: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "run_id": run["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
        **changes,
    }


def _schema(name: str) -> Any:
    path = Path(ROOT, "gateway", "schemas", f"{name}.v1.schema.json")
    return compile_schema(strict_json.loads(path.read_bytes()), imported=False)


@pytest.mark.proves("C1", "C2", "A5")
def test_a_read_answers_at_once_with_output_evidence_and_both_envelopes(
    world: GatewayWorld,
) -> None:
    run = world.open_run()
    answer = world.post(CALLS, _body(run))
    result = answer.json()
    assert answer.status_code == 200, result
    assert _schema("tool-result").errors(result) == ()
    assert result["status"] == "ok"
    assert result["output"] == {"order_id": "ord_0001", "status": "delivered"}
    assert result["critic"]["verdict"] == "accept"
    assert Evidence.objects.get(pk=result["evidence_refs"][0]).keys == ["order_id"]
    pair = world.get(f"{CALLS}/{result['tool_call_id']}").json()
    assert _schema("tool-call").errors(pair["call"]) == ()
    assert pair["call"]["args"] == {"order_id": "ord_0001"}
    assert pair["result"] == result


@pytest.mark.proves("A5")
def test_an_open_run_goes_on_with_the_function_its_pinned_manifest_names(
    world: GatewayWorld,
) -> None:
    before = world.open_run()
    manifest = orders(version="1.1.0")
    manifest["capabilities"][0]["function_name"] = "examples.orders:lookup@2"
    world.house.published(manifest)
    said = [
        world.post(CALLS, _body(run)).json()["output"]["status"]
        for run in (before, world.open_run())
    ]
    assert said == ["delivered", "delivered, as version 2 says"]


@pytest.mark.proves("E1")
def test_a_read_leaves_an_approval_and_an_end_in_the_record(world: GatewayWorld) -> None:
    result = world.post(CALLS, _body(world.open_run())).json()
    rows = rows_of(tenant_id=world.tenant_id, decision_id=result["decision_id"])
    assert [(row["seq"], row["status"]) for row in rows] == [(1, "APPROVED"), (2, "EXECUTED")]
    assert rows[1]["tool_result_hash"].startswith("sha256:")
    assert rows[0]["lineage"]["adapter_version"] == "1.0.0"
    assert "ord_0001" not in str(rows)


@pytest.mark.proves("C9")
def test_the_same_key_gives_the_recorded_answer_without_a_second_effect(
    world: GatewayWorld,
) -> None:
    run = world.open_run()
    first = world.post(CALLS, _body(run, idempotency_key="ik_1"))
    again = world.post(CALLS, _body(run, idempotency_key="ik_1"))
    assert again.status_code == 200
    assert again.content == first.content.replace(b'"replayed":false', b'"replayed":true')
    assert again.json()["replayed"] is True
    assert _effects() == 1
    assert Run.objects.get(pk=run["run_id"]).used_calls == 1


@pytest.mark.proves("C9")
def test_the_same_key_with_other_arguments_is_refused(world: GatewayWorld) -> None:
    run = world.open_run()
    world.post(CALLS, _body(run, idempotency_key="ik_1"))
    answer = world.post(CALLS, _body(run, idempotency_key="ik_1", args={"order_id": "ord_0002"}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency.conflict")


@pytest.mark.proves("C9")
def test_a_key_tells_another_caller_nothing(world: GatewayWorld) -> None:
    world.post(CALLS, _body(world.open_run(), idempotency_key="ik_1"))
    other = make_agent_token(make_agent(world.house.tenant, role="support_agent")).token
    run = world.post("/api/v1/runs", world.run_body(), token=other).json()
    answer = world.post(
        CALLS, _body(run, idempotency_key="ik_1", args={"order_id": "ord_0002"}), token=other
    )
    assert answer.json()["status"] == "ok"
    assert answer.json()["replayed"] is False


@pytest.mark.proves("C13")
@pytest.mark.parametrize(
    ("change", "status", "said", "kind", "code"),
    [
        (
            {"capability_id": "payments.issue_refund"},
            404,
            "rejected",
            "policy",
            "capability.unknown",
        ),
        ({"capability_id": "orders.delete"}, 404, "rejected", "policy", "capability.unknown"),
        ({"capability_id": "ordеrs.lookup"}, 404, "rejected", "policy", "capability.unknown"),
        ({"args": {}}, 422, "failed", "validation", "args.schema"),
        ({"args": {"order_id": "ord_1\n"}}, 422, "failed", "validation", "args.schema"),
        ({"args": {"order_id": "ord_0001", "x": 1}}, 422, "failed", "validation", "args.schema"),
        ({"args": {"n": 2**53 + 1}}, 422, "failed", "validation", "json.integer_too_large"),
        ({"run_id": "run_00000000000000000000000000"}, 404, "rejected", "policy", "run.unknown"),
    ],
)
def test_a_refusal_is_an_envelope_with_its_reason_and_a_record(
    world: GatewayWorld, change: dict[str, Any], status: int, said: str, kind: str, code: str
) -> None:
    run = world.open_run()
    answer = world.post(CALLS, _body(run, **change))
    result = answer.json()
    assert (answer.status_code, result["status"]) == (status, said), result
    assert (result["error"]["kind"], result["error"]["code"]) == (kind, code)
    assert _schema("tool-result").errors(result) == ()
    rows = rows_of(tenant_id=world.tenant_id, decision_id=result["decision_id"])
    assert [row["status"] for row in rows] == ["REJECTED"]
    assert rows[0]["error"]["code"] == code
    assert _effects() == 0


def test_a_refusal_keeps_the_arguments_it_was_about(world: GatewayWorld) -> None:
    sent = {"order_id": "nonsense"}
    result = world.post(CALLS, _body(world.open_run(), args=sent)).json()
    kept = find_payload(tenant_id=world.tenant_id, decision_id=result["decision_id"], kind="args")
    assert kept == sent
    head = DecisionRow.objects.get(decision_id=result["decision_id"])
    assert head.error_code == "args.schema"


@pytest.mark.parametrize("body", [{"surprise": 1}, {"args": []}, {"run_id": 7}])
def test_a_malformed_body_is_400_and_starts_nothing(
    world: GatewayWorld, body: dict[str, Any]
) -> None:
    assert world.post(CALLS, _body(world.open_run(), **body)).status_code == 400
    assert not ToolCall.objects.exists()


@pytest.mark.proves("B19")
def test_a_kill_switch_refuses_the_next_call(world: GatewayWorld) -> None:
    run = world.open_run()
    assert world.post(CALLS, _body(run)).status_code == 200
    throw_switch(
        tenant_id=world.tenant_id,
        scope="adapter",
        target_id="adp_orders",
        reason="Under attack.",
        actor=world.house.actor("operator"),
    )
    answer = world.post(CALLS, _body(run))
    assert answer.status_code == 403
    assert "Under attack" in str(answer.json()["error"])


def test_a_tool_that_says_no_is_a_failed_result_the_planner_can_mend(world: GatewayWorld) -> None:
    result = world.post(CALLS, _body(world.open_run(), args={"order_id": "ord_0404"})).json()
    assert (result["status"], result["error"]["code"]) == ("failed", "ORDER_NOT_FOUND")
    assert result["critic"]["verdict"] == "replan"


def test_an_answer_off_the_reviewed_schema_is_a_protocol_failure(world: GatewayWorld) -> None:
    result = world.post(CALLS, _body(world.open_run(), args={"order_id": "ord_0666"})).json()
    assert (result["status"], result["error"]["kind"]) == ("failed", "protocol")
    assert result["output"] is None


@pytest.mark.proves("C10")
def test_a_run_past_its_calls_is_refused(world: GatewayWorld) -> None:
    run = world.open_run(run_budget={"max_calls": 1})
    assert world.post(CALLS, _body(run)).status_code == 200
    answer = world.post(CALLS, _body(run))
    assert (answer.status_code, answer.json()["error"]["kind"]) == (429, "budget")
    assert _effects() == 1


def test_a_call_is_invisible_to_everybody_but_its_caller(world: GatewayWorld) -> None:
    result = world.post(CALLS, _body(world.open_run())).json()
    other = make_agent_token(make_agent(world.house.tenant, role="support_agent")).token
    assert world.get(f"{CALLS}/{result['tool_call_id']}", token=other).status_code == 404


def test_a_narrowed_token_reaches_only_what_it_names(world: GatewayWorld) -> None:
    narrow = make_agent_token(world.agent, scopes=["orders.other"]).token
    run = world.post("/api/v1/runs", world.run_body(), token=narrow).json()
    answer = world.post(CALLS, _body(run), token=narrow)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "auth.scope")


def test_a_warm_governed_read_needs_few_statements(world: GatewayWorld) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite writes the same rows one by one inside a transaction")
    run = world.open_run()
    world.post(CALLS, _body(run))
    with CaptureQueriesContext(connection) as captured:
        world.post(CALLS, _body(run))
    writes = [q["sql"] for q in captured if q["sql"].startswith("WITH")]
    assert len(writes) == 2
    assert len(captured) <= 4, [q["sql"][:90] for q in captured]
