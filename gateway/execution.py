"""One attempt of an accepted call: invoke outside any transaction, then end it in one write."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from audit.decision_record import DecisionFacts, DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Insert, Json, Update, Write, write_together
from audit.payloads import seal_payload
from contextos.core.canonical import canonicalise, digest
from contextos.core.clock import utcnow
from contextos.core.envelopes import ResultStatus, ToolResultEnvelope
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import new_id
from gateway.connectors.base import Connector, Invocation, Reply, ReplyKind
from gateway.critic import evidence_value, has_evidence
from gateway.models import Evidence, Run, ToolCall
from gateway.normalise import Normalised, normalise_fault, normalise_output, normalise_tool_error
from gateway.states import CallState
from registry.resolution import ResolvedCapability

# Faults after which nothing can have happened on the far side.
_HARMLESS = frozenset(
    {"function.busy", "function.runner_failed", "function.unknown", "function.unsupported_action"}
)
_STATUS = {
    ResultStatus.OK: (CallState.OK, DecisionStatus.EXECUTED),
    ResultStatus.FAILED: (CallState.FAILED, DecisionStatus.FAILED),
    ResultStatus.CANCELLED: (CallState.CANCELLED, DecisionStatus.CANCELLED),
    ResultStatus.UNKNOWN_OUTCOME: (CallState.UNKNOWN_OUTCOME, DecisionStatus.UNKNOWN),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Everything one attempt needs; `facts` is the last row of the decision so far."""

    call: ToolCall
    capability: ResolvedCapability
    invocation: Invocation
    facts: DecisionFacts
    policy_decision_id: str | None


def attempt_call(attempt: Attempt, connector: Connector) -> dict[str, Any]:
    """Invoke, normalise, and record the end; the result envelope as it is stored."""
    started = time.monotonic()
    outcome = _invoked(attempt, connector)
    latency_ms = int((time.monotonic() - started) * 1000)
    return finish(attempt, outcome, latency_ms=latency_ms)


def _invoked(attempt: Attempt, connector: Connector) -> Normalised:
    declaration = attempt.capability.declaration
    try:
        reply = connector.invoke(attempt.invocation)
    except ContextOSError as fault:
        possible = attempt.call.is_write and fault.code not in _HARMLESS
        return normalise_fault(fault, effect_possible=possible, attempts_left=0)
    if reply.kind is ReplyKind.TOOL_ERROR:
        declared = {item.get("code"): item for item in declaration.get("errors") or []}
        return normalise_tool_error(reply, declared=declared, attempts_left=0)
    if reply.kind is not ReplyKind.OUTPUT:
        return _unexpected(attempt, reply)
    return normalise_output(
        reply,
        output_validator=attempt.capability.output_validator,
        evidence_keys=tuple(declaration.get("evidence_keys") or ()),
    )


def _unexpected(attempt: Attempt, reply: Reply) -> Normalised:
    """A capability declared as a plain call may not turn into long work behind our back."""
    fault = coded_error("function.not_a_task", data={"state": reply.kind.value})
    return normalise_fault(fault, effect_possible=attempt.call.is_write, attempts_left=0)


def finish(attempt: Attempt, outcome: Normalised, *, latency_ms: int) -> dict[str, Any]:
    """Terminal state, terminal record, output and evidence: together or not at all."""
    call = attempt.call
    state, status = _STATUS[outcome.status]
    output = seal_payload(tenant_id=call.tenant_id, value=outcome.output, name="output")
    minted = _mint(attempt, outcome)
    envelope = _envelope(attempt, outcome, latency_ms, minted.ref if minted else None)
    stored = {**envelope, "output": None}
    facts = _terminal(attempt, outcome, status, envelope, output.commitment)
    record = prepare_decision(facts, after="call")
    moment = utcnow()
    move = Update(
        name="call",
        table=ToolCall._meta.db_table,
        values={
            "state": state.value,
            "result": canonicalise(stored).decode(),
            "output_payload": output.payload_id if outcome.output is not None else "",
            "error_code": str((outcome.error or {}).get("code", "")),
            "finished_at": None if state == CallState.UNKNOWN_OUTCOME else moment,
            "lease_until": None,
            "records": facts.seq,
        },
        where={
            "tool_call_id": call.tool_call_id,
            "state": CallState.EXECUTING.value,
            "worker": call.worker,
        },
    )
    writes: list[Write] = [move, *record.writes, _after(output.write)]
    writes += minted.writes if minted else ()
    writes.append(_settled_budget(call, outcome))
    if "call" not in write_together(*writes):
        raise coded_error("call.lost_lease")
    return envelope


def _after(write: Insert) -> Insert:
    return Insert(name=write.name, table=write.table, values=write.values, after="call")


def _settled_budget(call: ToolCall, outcome: Normalised) -> Update:
    return Update(
        name="run",
        table=Run._meta.db_table,
        values={},
        add={"spent_cents": outcome.cost_cents or 0, "reserved_cents": -call.reserved_cents},
        where={"run_id": call.run_id},
        after="call",
    )


@dataclass(frozen=True, slots=True)
class _Minted:
    """One new evidence reference and the rows that make it."""

    ref: str
    writes: tuple[Insert, ...]


def _mint(attempt: Attempt, outcome: Normalised) -> _Minted | None:
    """One reference per result, over the declared keys that it really carries."""
    declared = attempt.capability.declaration.get("evidence_keys") or []
    keys = [key for key in declared if has_evidence(outcome.output, key)]
    if outcome.status is not ResultStatus.OK or not keys:
        return None
    call, ref = attempt.call, new_id("ev")
    values = {key: evidence_value(outcome.output, key) for key in keys}
    sealed = seal_payload(tenant_id=call.tenant_id, value=values, name="evidence_value")
    row = {
        "evidence_ref": ref,
        "tenant_id": call.tenant_id,
        "run_id": call.run_id,
        "tool_call_id": call.tool_call_id,
        "capability_id": call.capability_id,
        "source": f"{call.adapter_id}@{call.adapter_version}",
        "keys": Json(keys),
        "commitment": sealed.commitment,
        "payload_id": sealed.payload_id,
        "classification": "INTERNAL",
        "observed_at": utcnow(),
    }
    table = Evidence._meta.db_table
    minted = Insert(name="evidence", table=table, values=row, after="call")
    return _Minted(ref, (minted, _after(sealed.write)))


def _envelope(
    attempt: Attempt, outcome: Normalised, latency_ms: int, evidence_ref: str | None
) -> dict[str, Any]:
    call = attempt.call
    return ToolResultEnvelope(
        tool_call_id=call.tool_call_id,
        run_id=call.run_id,
        trace_id=attempt.facts.trace_id,
        capability_id=call.capability_id,
        status=outcome.status,
        policy_decision_id=attempt.policy_decision_id,
        latency_ms=latency_ms,
        attempts=call.attempts,
        output=outcome.output,
        evidence_refs=(evidence_ref,) if evidence_ref else (),
        decision_id=call.decision_id,
        critic=outcome.score.as_dict(),
        metrics={
            "latency_ms": latency_ms,
            "retry_count": call.attempts - 1,
            "upstream_status": outcome.upstream_status,
            "cost_cents": outcome.cost_cents,
        },
        adapter={
            "adapter_id": call.adapter_id,
            "version": call.adapter_version,
            "manifest_hash": attempt.capability.manifest_hash,
        },
        error=outcome.error,
    ).as_dict()


def _terminal(
    attempt: Attempt,
    outcome: Normalised,
    status: DecisionStatus,
    envelope: Mapping[str, Any],
    commitment: str,
) -> DecisionFacts:
    hashed = digest({**envelope, "output": commitment if outcome.output is not None else None})
    return replace(
        attempt.facts,
        seq=attempt.facts.seq + 1,
        status=status,
        created_at=utcnow(),
        tool_result_hash=hashed,
        error=outcome.error,
        attempts=attempt.call.attempts,
        cost_cents=outcome.cost_cents,
        scorecard=outcome.score.as_dict(),
        evidence_refs=(*attempt.facts.evidence_refs, *envelope["evidence_refs"]),
    )
