"""Runs and calls as rows, without an adapter behind them: for lists, walls and big tables."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.utils import timezone

from audit.decision_record import CapabilityFacts, DecisionFacts, DecisionStatus, LineageFacts
from audit.decisions import prepare_decision
from audit.one_statement import write_together
from audit.payloads import seal_payload
from contextos.core.canonical import canonicalise
from contextos.core.envelopes import PrincipalKind, PrincipalRef
from contextos.core.ids import new_id
from contextos.identity.models import Tenant
from gateway.models import Evidence, Run, ToolCall
from gateway.states import CALLS, CallState

TRACE = "0af7651916cd43dd8448eb211c80319c"


def run_row(tenant: Tenant, **changes: Any) -> Run:
    """A run that was just opened; not saved."""
    now = timezone.now()
    values: dict[str, Any] = {
        "run_id": new_id("run"),
        "tenant": tenant,
        "agent_id": "agent_support",
        "intent": "support.refund",
        "environment": "production",
        "safety_mode": "destructive",
        "trace_id": TRACE,
        "salt": secrets.token_bytes(32),
        "document": {"agent": {"role": "support_agent"}, "principal_chain": [], "context": {}},
        "packs": [],
        "pins": {},
        "max_calls": 100,
        "max_cost_cents": 10_000,
        "max_wall_ms": 3_600_000,
        "expires_at": now + timedelta(hours=1),
        "created_at": now,
    }
    return Run(**values | changes)


def make_run(tenant: Tenant, **changes: Any) -> Run:
    """The same, saved."""
    run = run_row(tenant, **changes)
    run.save(force_insert=True)
    return run


def call_row(run: Run, **changes: Any) -> ToolCall:
    """A call of the run; not saved."""
    state = changes.get("state", CallState.OK)
    now = timezone.now()
    tool_call_id = new_id("tool")
    values: dict[str, Any] = {
        "tool_call_id": tool_call_id,
        "tenant_id": run.tenant_id,
        "run": run,
        "decision_id": new_id("dec"),
        "capability_id": "notes.add",
        "adapter_id": "adp_work",
        "adapter_version": "1.0.0",
        "version_id": "adv_none",
        "agent_id": run.agent_id,
        "user_id": run.user_id,
        "mode_effective": "local_write",
        "is_write": True,
        "state": state,
        "args_digest": "sha256:00",
        "envelope": canonicalise({"tool_call_id": tool_call_id, "trace_id": TRACE}).decode(),
        "result": "",
        "attempts": 1,
        "created_at": now,
        "finished_at": now if CALLS.is_terminal(state) else None,
    }
    return ToolCall(**values | changes)


def make_call(run: Run, *, args: Any = None, **changes: Any) -> ToolCall:
    """The same, saved, with its arguments and the first row of its decision."""
    call = call_row(run, **changes)
    sealed = seal_payload(
        tenant_id=run.tenant_id, decision_id=call.decision_id, kind="args", value=args or {}
    )
    call.args_payload = sealed.payload_id
    call.save(force_insert=True)
    facts = DecisionFacts(
        decision_id=call.decision_id,
        seq=1,
        tenant_id=run.tenant_id,
        status=DecisionStatus.APPROVED,
        principal_chain=(_agent(run),),
        capability=CapabilityFacts(id=call.capability_id, mode_effective=call.mode_effective),
        lineage=LineageFacts(adapter_id=call.adapter_id, adapter_version=call.adapter_version),
        created_at=call.created_at,
        run_id=run.pk,
        trace_id=TRACE,
        args_commitment=sealed.commitment,
    )
    write_together(*prepare_decision(facts).writes, sealed.write)
    return call


def make_evidence(run: Run, *, call: ToolCall | None = None, **changes: Any) -> Evidence:
    """A reference with a value that says `delivered`."""
    made = call or make_call(run)
    sealed = seal_payload(
        tenant_id=run.tenant_id,
        decision_id=made.decision_id,
        kind="evidence",
        value={"status": "delivered"},
    )
    write_together(sealed.write)
    values: dict[str, Any] = {
        "evidence_ref": new_id("ev"),
        "tenant_id": run.tenant_id,
        "run_id": run.pk,
        "tool_call_id": made.pk,
        "capability_id": "orders.lookup",
        "source": "adp_orders@1.0.0",
        "keys": ["status"],
        "commitment": sealed.commitment,
        "payload_id": sealed.payload_id,
        "classification": "INTERNAL",
        "observed_at": timezone.now(),
        "size_bytes": 22,
    }
    return Evidence.objects.create(**values | changes)


def make_refusal(run: Run, *, code: str = "args.schema", **changes: Any) -> str:
    """A refused call without a row of its own; its decision id."""
    decision_id = new_id("dec")
    values: dict[str, Any] = {
        "decision_id": decision_id,
        "seq": 1,
        "tenant_id": run.tenant_id,
        "status": DecisionStatus.REJECTED,
        "principal_chain": (_agent(run),),
        "capability": CapabilityFacts(id="notes.add"),
        "created_at": timezone.now(),
        "run_id": run.pk,
        "trace_id": TRACE,
        "intent": run.intent,
        "error": {"kind": "validation", "code": code, "message": "It does not fit."},
    }
    write_together(*prepare_decision(DecisionFacts(**values | changes)).writes)
    return decision_id


def _agent(run: Run) -> PrincipalRef:
    return PrincipalRef(kind=PrincipalKind.AGENT, id=run.agent_id, tenant_id=str(run.tenant_id))
