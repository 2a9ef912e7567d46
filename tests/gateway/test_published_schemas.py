"""What we emit matches what we publish: envelopes and records against their schemas (C2, E1)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from audit.decision_record import CapabilityFacts, DecisionFacts, DecisionStatus, canonical_text
from contextos.core import strict_json
from contextos.core.envelopes import (
    PrincipalKind,
    PrincipalRef,
    ResultStatus,
    ToolCallEnvelope,
    ToolResultEnvelope,
)
from contextos.core.errors import coded_error, tool_error
from contextos.core.ids import new_id
from contextos.core.modes import ApprovalMode
from gateway.critic import score_output, score_unknown
from registry.validation import Validator, compile_schema
from tests.architecture.source import ROOT

CHAIN = (PrincipalRef(kind=PrincipalKind.AGENT, id="agent_1", tenant_id="tenant_one"),)
HASH = "sha256:" + "0" * 64


def _validator(path: str) -> Validator:
    return compile_schema(strict_json.loads(Path(ROOT, path).read_bytes()), imported=False)


def _call(**more: Any) -> dict[str, Any]:
    return ToolCallEnvelope(
        tool_call_id=new_id("tool"),
        run_id=new_id("run"),
        trace_id="0" * 32,
        capability_id="payments.issue_refund",
        args={"amount_inr": 4200},
        principal_chain=CHAIN,
        approval_mode_requested=ApprovalMode.DESTRUCTIVE,
        approval_mode_effective=ApprovalMode.DELEGATED,
        approval_mode_highest=ApprovalMode.DESTRUCTIVE,
        **more,
    ).as_dict()


def _result(**more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "tool_call_id": new_id("tool"),
        "run_id": new_id("run"),
        "trace_id": "0" * 32,
        "capability_id": "orders.lookup",
        "status": ResultStatus.OK,
        **more,
    }
    return ToolResultEnvelope(**facts).as_dict()


@pytest.mark.proves("C2")
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"idempotency_key": "ik_1", "session_id": "s", "metadata": {"plan_id": "p"}},
        {"auth_ref": "claim_hash:" + HASH, "policy_decision_id": new_id("pol")},
    ],
)
def test_call_envelopes_match_their_schema(more: dict[str, Any]) -> None:
    assert _validator("gateway/schemas/tool-call.v1.schema.json").errors(_call(**more)) == ()


@pytest.mark.proves("C2")
@pytest.mark.parametrize(
    "more",
    [
        {"output": {"order_id": "o1"}, "critic": score_output({}, evidence_keys=[]).as_dict()},
        {"status": ResultStatus.REJECTED, "error": tool_error(coded_error("capability.unknown"))},
        {"status": ResultStatus.UNKNOWN_OUTCOME, "critic": score_unknown().as_dict()},
        {
            "status": ResultStatus.PAUSED,
            "approval": {"gate": "GATE_A", "approval_id": new_id("apr"), "state": "pending"},
        },
        {
            "status": ResultStatus.DEFERRED,
            "task": {"task_id": new_id("task"), "state": "working", "poll_after_ms": 500},
        },
        {"adapter": {"adapter_id": "adp_orders", "version": "1.0.0", "manifest_hash": HASH}},
        {"tool_call_id": None, "status": ResultStatus.REJECTED},
    ],
)
def test_result_envelopes_match_their_schema(more: dict[str, Any]) -> None:
    assert _validator("gateway/schemas/tool-result.v1.schema.json").errors(_result(**more)) == ()


@pytest.mark.parametrize(
    ("member", "value"),
    [("status", "done"), ("surprise", 1), ("attempts", -1), ("envelope_version", "v2")],
)
def test_the_result_schema_refuses_what_the_contract_does_not_know(member: str, value: Any) -> None:
    spoilt = _result() | {member: value}
    assert _validator("gateway/schemas/tool-result.v1.schema.json").errors(spoilt)


def test_only_an_ok_result_may_carry_output() -> None:
    spoilt = _result(status=ResultStatus.FAILED) | {"output": {"a": 1}}
    assert _validator("gateway/schemas/tool-result.v1.schema.json").errors(spoilt)


@pytest.mark.proves("E1")
@pytest.mark.parametrize("status", list(DecisionStatus))
def test_records_match_their_schema(status: DecisionStatus) -> None:
    facts = DecisionFacts(
        decision_id=new_id("dec"),
        seq=1,
        tenant_id="tenant_one",
        status=status,
        principal_chain=CHAIN,
        capability=CapabilityFacts(id="orders.lookup", mode_effective="read_only"),
        created_at=datetime(2026, 11, 16, tzinfo=UTC),
        idempotency={"key_hash": HASH, "fingerprint": HASH, "replayed": False},
    )
    record = strict_json.loads_object(canonical_text(facts))
    assert _validator("audit/schemas/decision-record.v1.schema.json").errors(record) == ()


@pytest.mark.parametrize("name", ["run-context", "tool-call", "tool-result", "decision-record"])
def test_each_schema_is_served(name: str) -> None:
    answer = Client().get(f"/schemas/{name}.v1.schema.json")
    assert answer.status_code == 200
    assert "2020-12/schema" in str(strict_json.loads_object(answer.content)["$schema"])
