"""Resolve, validate, decide and route once more, on the recorded inputs and documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from approvals.gates import GateTerms
from approvals.selectors import OpenGate
from contextos.core import strict_json
from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from contextos.identity.principals import Principal
from gateway.context import CallContext, CallRequest
from gateway.idempotency import MEMBER
from gateway.identity import Caller
from gateway.models import Run
from gateway.pipeline import RefusedCall, Stamp, check_terms, judged, validate
from gateway.recording import FALLBACK_MARK
from gateway.replaying.recorded import RecordedDecision
from gateway.replaying.surroundings import RecordedTerms
from registry.compiled import CompiledRun
from registry.policy import PolicyInputs, read_inputs

NOT_KEPT = "not_kept"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Decided:
    """How far the call came this time, and what stopped it; None = nothing did."""

    context: CallContext
    refusal: ContextOSError | None


def opened_context(
    decision: RecordedDecision, terms: RecordedTerms | None, compiled: CompiledRun | None
) -> CallContext:
    """The call as it came in, from what is kept of it."""
    first, envelope = decision.first, envelope_of(decision)
    return CallContext(
        caller=_caller(first, envelope),
        request=_request(decision, envelope),
        now=parse_time(first["created_at"]),
        trace_id=first["trace_id"],
        run=_run(decision, terms),
        compiled=compiled,
        routed_from=_routed_from(first),
    )


def envelope_of(decision: RecordedDecision) -> dict[str, Any]:
    """The envelope of an accepted call, without its arguments; empty for a refused one."""
    return strict_json.loads_object(decision.call.envelope) if decision.call else {}


def steps_again(context: CallContext, inputs: Mapping[str, Any] | None, stamp: Stamp) -> Decided:
    """Pass the pure steps in order; the first refusal ends it, as it did then."""
    try:
        context = _resolved(context)
        if args_not_kept(context):
            return Decided(context, None)
        context = validate(context)
        if inputs is None:
            return Decided(context, None)
        context = judged(context, policy_inputs(context, inputs), stamp)
        check_terms(context)
    except RefusedCall as refused:
        return Decided(refused.context, refused.error)
    except ContextOSError as refusal:
        return Decided(context, refusal)
    return Decided(context, None)


def args_not_kept(context: CallContext) -> bool:
    """Whether what was sent could not be stored, so that only the refusal tells of it."""
    return NOT_KEPT in context.request.args and len(context.request.args) == 1


def policy_inputs(context: CallContext, kept: Mapping[str, Any]) -> PolicyInputs:
    """What policy read: the kept part, the arguments, and the capability as declared."""
    return read_inputs(
        {
            **kept,
            "request": {**kept["request"], "args": dict(context.args)},
            "capability": context.capability.readable,
        }
    )


def _resolved(context: CallContext) -> CallContext:
    if context.compiled is None:
        raise LookupError("no documents were opened for this decision")
    return replace(context, permitted=context.compiled.resolve(context.request.capability_id))


def at_gate(context: CallContext, decision: RecordedDecision) -> CallContext:
    """The context with the gate that its decision names, in the version that people voted at."""
    named = context.decision.requires_approval_gate if context.decision else None
    if named is None:
        return context
    kept = decision.approval
    gate = OpenGate(
        gate_id=named,
        version=kept.gate_version if kept else "",
        version_id="",
        digest=(kept.gate_digest or "") if kept else "",
        authors=frozenset(),
        terms=GateTerms(stages=()),
    )
    return replace(context, gate=gate)


# --- the call as it came in ----------------------------------------------------------------------
def _caller(first: Mapping[str, Any], envelope: Mapping[str, Any]) -> Caller:
    links = {link["kind"]: link for link in first["principal_chain"]}
    auth_ref = str(envelope.get("auth_ref") or "")
    user = links.get("user")
    return Caller(_principal(links["agent"], auth_ref), _principal(user, "") if user else None)


def _principal(link: Mapping[str, Any], auth_ref: str) -> Principal:
    """A link of the chain; how far its token reached is not kept, and is not asked for."""
    return Principal(
        kind=link["kind"],
        id=link["id"],
        tenant_id=link["tenant_id"],
        display=link.get("display") or "",
        roles=(),
        scopes=None,
        max_mode=ApprovalMode.DESTRUCTIVE,
        token_id="",
        auth_ref=auth_ref,
        issuer="",
        expires_at=_LONG_AGO,
    )


def _request(decision: RecordedDecision, envelope: Mapping[str, Any]) -> CallRequest:
    first, plan = decision.first, decision.first["plan"] or {}
    args, terms = decision.newest("args"), decision.newest("terms")
    said: Mapping[str, Any] = terms.value if terms is not None and terms.value else {}
    placed = {**plan, "fallback_for": _routed_from(first)}
    metadata = dict(envelope.get("metadata") or {})
    mode = _mode_requested(decision, said)
    return CallRequest(
        run_id=first["run_id"] or "",
        capability_id=said.get("capability_id") or first["capability"]["id"],
        args=args.value if args is not None and isinstance(args.value, dict) else {},
        idempotency_key=envelope.get(MEMBER) or said.get(MEMBER),
        mode_requested=ApprovalMode(mode) if mode else None,
        evidence_refs=tuple(first["evidence_refs"]),
        session_id=first["session_id"],
        plan_id=plan.get("plan_id"),
        step_id=plan.get("step_id"),
        metadata={name: v for name, v in metadata.items() if placed.get(name) != v},
    )


def _mode_requested(decision: RecordedDecision, said: Mapping[str, Any]) -> str | None:
    """What was asked for, and not what the record shows where nothing was."""
    inputs = decision.newest("inputs")
    if inputs is not None and isinstance(inputs.value, dict):
        return inputs.value.get("approval_mode_requested")
    if said:
        return said.get("mode_requested")
    capability = decision.first["capability"]
    return capability["mode_requested"] or None


def _run(decision: RecordedDecision, terms: RecordedTerms | None) -> Run | None:
    if decision.first["run_id"] is None:
        return None
    if decision.run is not None or terms is None:
        return decision.run
    return Run(
        run_id=decision.first["run_id"],
        tenant_id=decision.tenant_id,
        intent=terms.intent,
        environment=terms.environment,
    )


def _routed_from(first: Mapping[str, Any]) -> str | None:
    marks = [name for name in first["controls_active"] if name.startswith(FALLBACK_MARK)]
    return str(marks[0]).removeprefix(FALLBACK_MARK) if marks else None
