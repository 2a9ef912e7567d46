"""Claims a key and records the decision in one write: no record, no effect (C9, E1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from django.db import IntegrityError

from approvals.opening import prepare_request
from approvals.selectors import OpenGate
from audit.decision_record import DecisionFacts, DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Insert, Write, write_together
from contextos.core.canonical import Frame, frame_around
from contextos.core.changing import changed
from contextos.core.envelopes import ToolCallEnvelope
from contextos.core.ids import new_id
from contextos.plain_models import blank, plain_model
from gateway.budgets import overdrawn, reservation, reserve_cents
from gateway.callbacks import callback_writes
from gateway.context import CallContext
from gateway.dispatch import first_look
from gateway.gating import subject_of
from gateway.hashes import call_hash
from gateway.idempotency import fingerprint, new_salt
from gateway.leases import LEASE_MARGIN, worker_name
from gateway.loop_guard import args_digest
from gateway.models import IdempotencyKey, ToolCall
from gateway.recording import (
    SealedInputs,
    decision_facts,
    policy_approval,
    proposes_first,
    sealed_inputs,
)
from gateway.replays import scope_of
from gateway.states import CallState

_COLUMNS = tuple((str(field.column), field.attname) for field in ToolCall._meta.concrete_fields)
_NO_ARGS = b"{}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A call that was claimed and recorded; `facts` is the last row of its decision."""

    call: ToolCall
    facts: DecisionFacts


@dataclass(frozen=True, slots=True)
class _Key:
    """The row a key would be filed under."""

    scope_hash: str
    salt: bytes
    fingerprint: str

    def as_record(self) -> dict[str, Any]:
        return {
            "key_hash": self.scope_hash,
            "fingerprint": self.fingerprint,
            "replayed": False,
        }


def accept(context: CallContext) -> Accepted | None:
    """Claim, call, inputs and records in one write; None when the key was taken meanwhile, or when
    what the decision was taken on does not hold any more.

    A quick call begins as executing, in the hands of this thread; any other waits in the queue.
    """
    call, envelope, frame = _call_row(context)
    key = _new_key(context)
    first: Write | None = _claim(context, call, key) if key else context.still
    after = first.name if first else None
    sealed = sealed_inputs(context, call.decision_id, after=after)
    call.args_payload = sealed.args_payload
    rows = _record_rows(context, call, envelope, frame, sealed, key)
    table = ToolCall._meta.db_table
    writes: list[Write] = [first] if first else []
    writes.append(Insert(name="call", table=table, values=columns_of(call), after=after))
    writes += sealed.writes
    for number, facts in enumerate(rows):
        writes += prepare_decision(facts, name=f"record_{number}", after=after).writes
    writes.append(reservation(call, after=after))
    if context.gate is not None:
        writes.append(_asked_of_people(context, call, sealed, context.gate, after))
    if not context.is_quick:
        writes += callback_writes(call, after=after)
    try:
        done = write_together(*writes)
    except IntegrityError as clash:
        raise (overdrawn(clash) or clash) from clash
    return Accepted(call, rows[-1]) if "call" in done else None


def _asked_of_people(
    context: CallContext, call: ToolCall, sealed: SealedInputs, gate: OpenGate, after: str | None
) -> Insert:
    subject = subject_of(
        context,
        tool_call_id=call.tool_call_id,
        decision_id=call.decision_id,
        payload_id=sealed.args_payload,
        commitment=sealed.commitment,
    )
    return prepare_request(
        tenant_id=call.tenant_id,
        gate=gate,
        quorum=context.decision.quorum if context.decision else None,
        subject=subject,
        now=context.now,
        after=after,
    ).write


def columns_of(call: ToolCall) -> dict[str, Any]:
    """The row as SQL wants it."""
    held = vars(call)
    return {column: held[name] for column, name in _COLUMNS}


def _new_key(context: CallContext) -> _Key | None:
    if context.key is None:
        return None
    salt = new_salt()
    return _Key(scope_of(context).hash_of(context.key), salt, fingerprint(salt, context.args))


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


def _call_row(context: CallContext) -> tuple[ToolCall, dict[str, Any], Frame]:
    """The row, and its envelope around the arguments: it is kept without, hashed with them."""
    run, capability = context.run, context.capability
    if run is None:
        raise LookupError("the run is not loaded yet")
    tool_call_id = new_id("tool")
    envelope = call_envelope(context, tool_call_id)
    frame = frame_around("args", envelope)
    members: dict[str, Any] = {
        **_blank_call(),
        "tool_call_id": tool_call_id,
        "tenant_id": run.tenant_id,
        "run_id": run.run_id,
        "decision_id": new_id("dec"),
        "capability_id": capability.capability_id,
        "adapter_id": capability.adapter_id,
        "adapter_version": capability.version,
        "version_id": capability.version_id,
        "agent_id": context.caller.agent.id,
        "user_id": context.caller.user_id,
        "mode_effective": context.effective_mode.value,
        "is_write": context.is_write,
        "args_digest": args_digest(context),
        "envelope": frame.holding(_NO_ARGS).decode(),
        "records": len(first_statuses(context)),
        "reserved_cents": reserve_cents(context),
        "created_at": context.now,
        **_start(context),
    }
    call = plain_model(ToolCall, members, stored=False)
    call.run = run
    return call, envelope, frame


@cache
def _blank_call() -> dict[str, Any]:
    return blank(ToolCall)


def _start(context: CallContext) -> dict[str, Any]:
    if context.gate is not None:
        return {"state": CallState.PAUSED}
    if not context.is_quick:
        return {"state": CallState.QUEUED, "due_at": first_look(context.now)}
    deadline = context.now + timedelta(seconds=context.timeout_seconds)
    return {
        "state": CallState.EXECUTING,
        "attempts": 1,
        "worker": worker_name(),
        "lease_until": deadline + LEASE_MARGIN,
        "deadline_at": deadline,
    }


def call_envelope(context: CallContext, tool_call_id: str) -> dict[str, Any]:
    """The call envelope, its arguments left to the payload store."""
    run, request = context.run, context.request
    if run is None or context.decision is None:
        raise LookupError("the call is not decided yet")
    return ToolCallEnvelope(
        tool_call_id=tool_call_id,
        run_id=run.run_id,
        trace_id=context.trace_id,
        capability_id=context.capability.capability_id,
        args={},
        principal_chain=context.caller.chain,
        approval_mode_requested=context.mode_requested,
        approval_mode_effective=context.effective_mode,
        approval_mode_highest=context.capability.approval_mode,
        evidence_refs=request.evidence_refs,
        session_id=request.session_id,
        policy_decision_id=context.decision.policy_decision_id,
        idempotency_key=context.key,
        auth_ref=context.caller.agent.auth_ref,
        metadata=_metadata(context),
    ).as_dict()


def _metadata(context: CallContext) -> Mapping[str, Any] | None:
    request = context.request
    placed = {
        "plan_id": request.plan_id,
        "step_id": request.step_id,
        "fallback_for": context.routed_from,
    }
    merged = {**request.metadata, **{name: v for name, v in placed.items() if v is not None}}
    return merged or None


def _record_rows(
    context: CallContext,
    call: ToolCall,
    envelope: Mapping[str, Any],
    frame: Frame,
    sealed: SealedInputs,
    key: _Key | None,
) -> list[DecisionFacts]:
    return first_rows(
        context,
        decision_id=call.decision_id,
        args_commitment=sealed.commitment,
        idempotency=key.as_record() if key else None,
        tool_call_hash=call_hash(
            envelope, commitment=sealed.commitment, salt=sealed.salt, frame=frame
        ),
    )


def first_rows(context: CallContext, **more: Any) -> list[DecisionFacts]:
    """The rows that a decision begins with; replay makes them again from what was recorded."""
    rows = [
        decision_facts(context, seq=seq, status=status, **more)
        for seq, status in enumerate(first_statuses(context), start=1)
    ]
    if context.gate is None:
        rows[-1] = changed(rows[-1], approvals=policy_approval(context))
    return rows


def first_statuses(context: CallContext) -> list[DecisionStatus]:
    """Gated: proposed, and people say the rest. Ungated: policy takes the approve step itself."""
    if context.gate is not None:
        return [DecisionStatus.PROPOSED]
    proposed = [DecisionStatus.PROPOSED] if proposes_first(context.effective_mode) else []
    return [*proposed, DecisionStatus.APPROVED]
