"""Redaction rules of policy: what they name is hidden from caller, record and store alike (C4)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from audit.decisions import rows_of
from audit.payloads import find_payload
from contextos.core.redaction import MARK
from gateway.models import Evidence, ToolCall
from gateway.replaying.engine import replay_decision
from gateway.replaying.findings import ReplayStatus
from gateway.replaying.loading import recorded_decision
from gateway.replaying.surroundings import Surroundings
from gateway.worker import work_on
from registry.recorded_documents import RecordedDocuments
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry.documents import bundle
from tests.registry.walks import policy_walk

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("function_runner"),
    pytest.mark.proves("C4"),
]
CALLS = "/api/v1/tool-calls"


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld, with_work=True)


def _hide(world: GatewayWorld, *rules: Any) -> None:
    document = bundle(version="1.0.1", guardrails={"redaction_rules": list(rules)})
    policy_walk(world.house).published(document)


def _lookup(world: GatewayWorld, **more: Any) -> dict[str, Any]:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
        **more,
    }
    answer = world.post(CALLS, body)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


@pytest.mark.parametrize(
    "rule",
    [
        "status",
        "/status",
        {"hide": "Status", "applies_to": {"capability": "orders.lookup"}},
        {"hide": "/*", "applies_to": {"intent": "support.refund", "environment": "production"}},
    ],
)
def test_what_a_rule_names_is_gone_before_anybody_gets_or_keeps_it(
    world: GatewayWorld, rule: Any
) -> None:
    _hide(world, rule)
    answer = _lookup(world)
    assert answer["output"]["status"] == MARK
    assert "output.redacted" in {finding["code"] for finding in answer["critic"]["findings"]}
    decision = {"tenant_id": world.tenant_id, "decision_id": answer["decision_id"]}
    assert "/output/status" in rows_of(**decision)[-1]["redactions"]
    assert "delivered" not in str(find_payload(**decision, kind="output"))
    shown = world.get(f"{CALLS}/{answer['tool_call_id']}").json()
    assert "delivered" not in str(shown)
    assert "delivered" not in str(ToolCall.objects.values().get())


def test_what_a_rule_names_is_gone_from_what_the_tool_says_it_changed(world: GatewayWorld) -> None:
    _hide(world, "ref")
    answer = _lookup(world, args={"order_id": "ord_0777"})
    assert answer["mutations"] == [{"kind": "order.touched", "ref": MARK}]
    where = {"tenant_id": world.tenant_id, "decision_id": answer["decision_id"]}
    assert rows_of(**where)[-1]["redactions"] == ["/mutations/0/ref"]
    replayed = replay_decision(
        recorded_decision(**where), Surroundings(RecordedDocuments(world.tenant_id))
    )
    assert (replayed.status, replayed.diffs) == (ReplayStatus.EQUAL, ())


def test_evidence_is_minted_from_what_was_left(world: GatewayWorld) -> None:
    _hide(world, "order_id")
    answer = _lookup(world)
    decision = {"tenant_id": world.tenant_id, "decision_id": answer["decision_id"]}
    assert answer["output"]["order_id"] == MARK
    if Evidence.objects.exists():
        assert "ord_0001" not in str(find_payload(**decision, kind="evidence"))


@pytest.mark.parametrize(
    "rule",
    [
        {"hide": "status", "applies_to": {"capability": "orders.cancel"}},
        {"hide": "status", "applies_to": {"environment": "staging"}},
        "/nested/status",
    ],
)
def test_a_rule_for_other_calls_or_places_hides_nothing(world: GatewayWorld, rule: Any) -> None:
    _hide(world, rule)
    answer = _lookup(world)
    assert answer["output"]["status"] == "delivered"
    rows = rows_of(tenant_id=world.tenant_id, decision_id=answer["decision_id"])
    assert rows[-1]["redactions"] == []


def test_names_that_look_like_secrets_stay_unless_a_rule_says_so(world: GatewayWorld) -> None:
    """An answer is the tool's word to its caller: only policy takes something out of it."""
    _hide(world, "nothing_of_the_kind")
    assert _lookup(world)["output"] == {"order_id": "ord_0001", "status": "delivered"}


def test_a_rule_published_while_a_call_waits_counts_for_its_answer(world: GatewayWorld) -> None:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": "notes.add",
        "args": {"text": "hello"},
        "idempotency_key": "ik_1",
    }
    call_id = world.post(CALLS, body).json()["tool_call_id"]
    _hide(world, {"hide": "/*", "applies_to": {"capability": "notes.add"}})
    ToolCall.objects.update(due_at=timezone.now())
    work_on(call_id)
    pair = world.get(f"{CALLS}/{call_id}").json()
    assert set(pair["result"]["output"].values()) == {MARK}
