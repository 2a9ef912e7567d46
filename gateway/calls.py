"""Accepting a call: decide, look for a replay, claim and record in one write, then act (C1)."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, IntegrityError

from audit.decision_record import DecisionFacts, DecisionStatus
from audit.decisions import prepare_decision, record_decision
from audit.one_statement import Insert, Update, Write, write_together
from audit.payloads import SealedPayload, open_payload, seal_payload
from contextos.core import strict_json
from contextos.core.canonical import canonicalise, digest
from contextos.core.clock import utcnow
from contextos.core.envelopes import ToolCallEnvelope
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import new_id
from gateway.answers import Answer, refusal, stored
from gateway.connectors import connector_for
from gateway.connectors.base import Invocation
from gateway.context import CallContext, CallRequest
from gateway.execution import Attempt, attempt_call
from gateway.idempotency import KeyScope, fingerprint, new_salt, same_fingerprint
from gateway.identity import Caller
from gateway.models import IdempotencyKey, Run, ToolCall
from gateway.pipeline import RefusedCall, run_steps
from gateway.recording import decision_facts, policy_approval, proposes_first
from gateway.states import CALLS, CallState
from registry.manifest.normalise import binding_name

LEASE_MARGIN = timedelta(seconds=5)
_FIELDS = ToolCall._meta.concrete_fields


@dataclass(frozen=True, slots=True)
class _Key:
    """The row a key would be filed under."""

    scope_hash: str
    salt: bytes
    fingerprint: str


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A call that was claimed and recorded, ready for its first attempt."""

    call: ToolCall
    facts: DecisionFacts


def propose(context: CallContext) -> Answer:
    """One call from its body to its answer; every way out leaves a record."""
    try:
        context = run_steps(context)
        replay = _replay(context)
        if replay is not None:
            return replay
        _check_budget(context)
        if not context.is_quick:
            raise coded_error("call.needs_worker")
        accepted = _accept(context)
    except RefusedCall as refused:
        return _refuse(refused.context, refused.error)
    except ContextOSError as error:
        return _refuse(context, error)
    if accepted is None:
        # Somebody else claimed the key a moment earlier: theirs is the answer.
        return _replay(context) or _refuse(context, coded_error("idempotency.in_flight"))
    return _execute(context, accepted)


# --- refusals ------------------------------------------------------------------------------------
def _refuse(context: CallContext, error: ContextOSError) -> Answer:
    decision_id = new_id("dec")
    facts = decision_facts(
        context,
        decision_id=decision_id,
        seq=1,
        status=DecisionStatus.REJECTED,
        error={"kind": error.kind.value, "code": error.code, "message": error.message},
    )
    try:
        record_decision(facts)
    except DatabaseError:
        return refusal(context, coded_error("record.unavailable"), decision_id=None)
    return refusal(context, error, decision_id=decision_id)


# --- replay --------------------------------------------------------------------------------------
def _scope(context: CallContext) -> KeyScope:
    caller = context.caller
    return KeyScope(
        caller.tenant_id, caller.agent.id, caller.user_id, context.capability.capability_id
    )


def _replay(context: CallContext) -> Answer | None:
    """The recorded answer for this key, or a refusal; None when the key is new."""
    if context.key is None:
        return None
    row = IdempotencyKey.objects.filter(pk=_scope(context).hash_of(context.key)).first()
    if row is None:
        return None
    if row.expires_at <= context.now:
        IdempotencyKey.objects.filter(pk=row.pk, expires_at=row.expires_at).delete()
        return None
    if not same_fingerprint(row.fingerprint, bytes(row.salt), context.args):
        raise coded_error("idempotency.conflict")
    call = ToolCall.objects.filter(pk=row.tool_call_id).first()
    if call is None or call.state == CallState.EXECUTING:
        raise coded_error("idempotency.in_flight")
    return stored(result_of(call), replayed=CALLS.is_terminal(call.state))


def result_of(call: ToolCall) -> dict[str, Any]:
    """The result envelope of a call, its output taken from the payload store."""
    body = strict_json.loads_object(call.result)
    if call.output_payload:
        body["output"] = open_payload(tenant_id=call.tenant_id, payload_id=call.output_payload)
    return body


# --- claim and record ----------------------------------------------------------------------------
def _check_budget(context: CallContext) -> None:
    run = context.run
    if run is None:
        raise LookupError("the run is not loaded yet")
    spent_ms = (context.now - run.created_at).total_seconds() * 1000 - run.waited_ms
    if context.now >= run.expires_at or spent_ms > run.max_wall_ms:
        raise coded_error("budget.exhausted", message="The run's time is used up.")
    if run.used_calls >= run.max_calls:
        raise coded_error("budget.exhausted", message="The run's calls are used up.")
    if run.spent_cents + run.reserved_cents + _reserve(context) > run.max_cost_cents:
        raise coded_error("budget.exhausted", message="The run's money is used up.")


def _reserve(context: CallContext) -> int:
    cost = context.declaration.get("cost") or {}
    reserved = cost.get("reserve_cents")
    return reserved if isinstance(reserved, int) and reserved > 0 else 0


def _accept(context: CallContext) -> _Accepted | None:
    """Claim, call, arguments and records in one write; None when the key was taken meanwhile."""
    args = seal_payload(tenant_id=context.caller.tenant_id, value=dict(context.args), name="args")
    key = _new_key(context)
    call, envelope = _call_row(context, args)
    rows = _record_rows(context, call, envelope, args, key)
    after = "claim" if key else None
    writes: list[Write] = []
    if key is not None:
        writes.append(_claim(context, call, key))
    writes.append(
        Insert(name="call", table=ToolCall._meta.db_table, values=_columns(call), after=after)
    )
    writes.append(
        Insert(name="args", table=args.write.table, values=args.write.values, after=after)
    )
    for number, facts in enumerate(rows):
        writes += prepare_decision(facts, name=f"record_{number}", after=after).writes
    writes.append(_budget_use(context, call, after))
    try:
        done = write_together(*writes)
    except IntegrityError as clash:
        if "run_calls_within_budget" in str(clash):
            raise coded_error("budget.exhausted") from clash
        raise
    return _Accepted(call, rows[-1]) if "call" in done else None


def _new_key(context: CallContext) -> _Key | None:
    if context.key is None:
        return None
    salt = new_salt()
    return _Key(_scope(context).hash_of(context.key), salt, fingerprint(salt, context.args))


def _claim(context: CallContext, call: ToolCall, key: _Key) -> Insert:
    row = {
        "scope_hash": key.scope_hash,
        "tenant_id": call.tenant_id,
        "tool_call_id": call.tool_call_id,
        "salt": key.salt,
        "fingerprint": key.fingerprint,
        "created_at": context.now,
        "expires_at": context.now + timedelta(seconds=context.window_seconds),
    }
    table = IdempotencyKey._meta.db_table
    return Insert(name="claim", table=table, values=row, unless_taken=["scope_hash"])


def _budget_use(context: CallContext, call: ToolCall, after: str | None) -> Update:
    return Update(
        name="budget",
        table=Run._meta.db_table,
        values={},
        add={"used_calls": 1, "reserved_cents": call.reserved_cents},
        where={"run_id": call.run_id},
        after=after,
    )


def _call_row(context: CallContext, args: SealedPayload) -> tuple[ToolCall, dict[str, Any]]:
    run, capability = context.run, context.capability
    if run is None or context.decision is None:
        raise LookupError("the call is not decided yet")
    tool_call_id = new_id("tool")
    envelope = ToolCallEnvelope(
        tool_call_id=tool_call_id,
        run_id=run.run_id,
        trace_id=context.trace_id,
        capability_id=capability.capability_id,
        args={},
        principal_chain=context.caller.chain,
        approval_mode_requested=context.mode_requested,
        approval_mode_effective=context.effective_mode,
        approval_mode_highest=capability.approval_mode,
        evidence_refs=context.request.evidence_refs,
        session_id=context.request.session_id,
        policy_decision_id=context.decision.policy_decision_id,
        idempotency_key=context.key,
        auth_ref=context.caller.agent.auth_ref,
        metadata=_metadata(context),
    ).as_dict()
    deadline = context.now + timedelta(seconds=context.timeout_seconds)
    call = ToolCall(
        tool_call_id=tool_call_id,
        tenant_id=run.tenant_id,
        run=run,
        decision_id=new_id("dec"),
        capability_id=capability.capability_id,
        adapter_id=capability.adapter_id,
        adapter_version=capability.version,
        version_id=capability.version_id,
        agent_id=context.caller.agent.id,
        user_id=context.caller.user_id,
        mode_effective=context.effective_mode.value,
        is_write=context.is_write,
        state=CallState.EXECUTING,
        args_digest=digest(dict(context.args)),
        args_payload=args.payload_id,
        envelope=canonicalise(envelope).decode(),
        context="{}",
        attempts=1,
        reserved_cents=_reserve(context),
        worker=worker_name(),
        lease_until=deadline + LEASE_MARGIN,
        deadline_at=deadline,
        created_at=context.now,
    )
    return call, envelope


def _metadata(context: CallContext) -> Mapping[str, Any] | None:
    request = context.request
    placed = {"plan_id": request.plan_id, "step_id": request.step_id}
    merged = {**request.metadata, **{name: v for name, v in placed.items() if v is not None}}
    return merged or None


def worker_name() -> str:
    """Who holds a lease: this thread of this process."""
    return f"{os.uname().nodename}:{os.getpid()}:{threading.get_ident()}"[:100]


def _columns(call: ToolCall) -> dict[str, Any]:
    """The row as SQL wants it."""
    return {str(field.column): getattr(call, field.attname) for field in _FIELDS}


def _record_rows(
    context: CallContext,
    call: ToolCall,
    envelope: Mapping[str, Any],
    args: SealedPayload,
    key: _Key | None,
) -> list[DecisionFacts]:
    idempotency = None
    if key is not None:
        idempotency = {
            "key_hash": key.scope_hash,
            "fingerprint": key.fingerprint,
            "replayed": False,
        }
    more: dict[str, Any] = {
        "args_commitment": args.commitment,
        "idempotency": idempotency,
        "tool_call_hash": digest({**envelope, "args": args.commitment}),
    }
    statuses = [DecisionStatus.APPROVED]
    if proposes_first(context.effective_mode):
        statuses.insert(0, DecisionStatus.PROPOSED)
    rows = [
        decision_facts(context, decision_id=call.decision_id, seq=seq, status=status, **more)
        for seq, status in enumerate(statuses, start=1)
    ]
    rows[-1] = replace(rows[-1], approvals=policy_approval(context))
    return rows


# --- acting --------------------------------------------------------------------------------------
def _execute(context: CallContext, accepted: _Accepted) -> Answer:
    attempt = Attempt(
        call=accepted.call,
        capability=context.capability,
        invocation=_invocation(context, accepted.call),
        facts=accepted.facts,
        policy_decision_id=context.decision.policy_decision_id if context.decision else None,
    )
    connector = connector_for(str(context.capability.manifest.get("protocol")))
    try:
        body = attempt_call(attempt, connector)
    except DatabaseError:
        return refusal(context, coded_error("record.unavailable"), decision_id=None)
    return stored(body, replayed=False)


def _invocation(context: CallContext, call: ToolCall) -> Invocation:
    manifest = context.capability.manifest
    binding = context.declaration.get(binding_name(str(manifest.get("protocol"))))
    return Invocation(
        tool_call_id=call.tool_call_id,
        tenant_id=call.tenant_id,
        environment=context.run.environment if context.run else "",
        capability_id=call.capability_id,
        binding=str(binding or call.capability_id),
        args=context.args,
        deadline_at=call.deadline_at,
        attempt=call.attempts,
        idempotency_key=context.key,
        transport=manifest.get("transport") or {},
    )


def read_call(*, tenant_id: str, agent_id: str, user_id: str, tool_call_id: str) -> dict[str, Any]:
    """Both envelopes of a call of this very caller; anybody else's does not exist."""
    call = ToolCall.objects.filter(
        pk=tool_call_id, tenant_id=tenant_id, agent_id=agent_id, user_id=user_id
    ).first()
    if call is None:
        raise coded_error("call.unknown")
    envelope = strict_json.loads_object(call.envelope)
    envelope["args"] = open_payload(tenant_id=tenant_id, payload_id=call.args_payload)
    result = result_of(call) if call.result else None
    return {"call": envelope, "result": result}


def open_context(*, caller: Caller, request: CallRequest, trace_id: str) -> CallContext:
    """The context a call starts with."""
    return CallContext(caller=caller, request=request, now=utcnow(), trace_id=trace_id)
