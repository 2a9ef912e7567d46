"""What a call's decision records say, at each point of its life (E1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import contextos
from audit.amounts import amount_write
from audit.decision_record import CapabilityFacts, DecisionFacts, DecisionStatus, LineageFacts
from audit.one_statement import Insert
from audit.payloads import seal_payload
from contextos.core.canonical import canonicalise, digest_bytes, frame_around
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from contextos.trace_context import current_trace
from gateway.amounts import amount_in
from gateway.context import CallContext
from gateway.shadowing import shadow_writes

# Which safeguards stood when the decision was taken.
CONTROLS = (
    "argument_schema",
    "deny_by_default",
    "execute_time_policy",
    "idempotency",
    "run_budget",
    "signed_manifest",
)
# Followed by the capability that was asked for, whose adapter rests.
FALLBACK_MARK = "fallback_for:"
TERMS = "terms"  # the kind of payload that refusals keep beside their arguments
_PROPOSED_FIRST = (ApprovalMode.NETWORK, ApprovalMode.DELEGATED, ApprovalMode.DESTRUCTIVE)


def proposes_first(mode: ApprovalMode) -> bool:
    """Whether the mode's rows begin with PROPOSED."""
    return mode in _PROPOSED_FIRST


@dataclass(frozen=True, slots=True)
class SealedInputs:
    """What a decision was taken on: the arguments, and all that policy could read."""

    args_payload: str
    commitment: str
    writes: tuple[Insert, ...]
    salt: bytes = field(repr=False)  # of the arguments; erased with them


def sealed_inputs(
    context: CallContext, decision_id: str, *, after: str | None = None
) -> SealedInputs:
    """Keep arguments and policy inputs by commitment, so that the decision can be taken again,
    and what watching policies would have decided."""
    where: dict[str, Any] = {"tenant_id": context.caller.tenant_id, "decision_id": decision_id}
    args = seal_payload(**where, kind="args", value=_given_args(context), after=after)
    if context.inputs is None:
        return SealedInputs(args.payload_id, args.commitment, (args.write,), args.salt)
    inputs = seal_payload(**where, kind="inputs", value=inputs_document(context), after=after)
    watched = shadow_writes(
        context.shadow, **where, capability_id=context.capability.capability_id, after=after
    )
    about = _amount_writes(context, decision_id, after)
    writes = (args.write, inputs.write, *watched, *about)
    return SealedInputs(args.payload_id, args.commitment, writes, args.salt)


def _amount_writes(context: CallContext, decision_id: str, after: str | None) -> tuple[Insert, ...]:
    """What auditors search by, kept apart from the record so that it can be erased."""
    amount, unit = amount_in(context.args)
    if amount is None:
        return ()
    tenant_id = context.caller.tenant_id
    return (
        amount_write(
            tenant_id=tenant_id, decision_id=decision_id, amount=amount, unit=unit, after=after
        ),
    )


def sealed_terms(context: CallContext, decision_id: str, *, after: str | None = None) -> Insert:
    """Keep what a refused call was measured against: a refusal names no version of anything it
    did not come to, and a replay has to find out the same."""
    tenant_id = context.caller.tenant_id
    value = terms_document(context)
    return seal_payload(
        tenant_id=tenant_id, decision_id=decision_id, kind=TERMS, value=value, after=after
    ).write


def terms_document(context: CallContext) -> dict[str, Any]:
    """The asking itself, the terms of its run, and the policy in force."""
    request, run = context.request, context.run
    asked = request.mode_requested
    bundles = context.compiled.bundles if context.compiled else ()
    return {
        "capability_id": request.capability_id[:200],
        "idempotency_key": request.idempotency_key,
        "mode_requested": asked.value if asked else None,
        "packs": list(run.packs) if run else [],
        "pins": dict(run.pins) if run else {},
        "environment": run.environment if run else None,
        "role": run.document["agent"]["role"] if run else None,
        "bundles": [_bundle(bundle) for bundle in bundles],
    }


def _given_args(context: CallContext) -> dict[str, Any]:
    """The arguments as decided on; until they passed, what was sent is all there is."""
    if context.grant is not None:
        return dict(context.args)
    sent = dict(context.request.args)
    try:
        canonicalise(sent)
    except ContextOSError as fault:
        return {"not_kept": fault.code}  # a number that JSON can't carry, say
    return sent


def inputs_document(context: CallContext) -> dict[str, Any]:
    """The policy inputs less what stands elsewhere: arguments have a payload of their own, the
    declaration is in the signed manifest that the record names."""
    if context.inputs is None:
        raise LookupError("policy has not been asked yet")
    document = context.inputs.document()
    request = {"context": document["request"]["context"]}
    return {**document, "request": request, "capability": {"id": context.capability.capability_id}}


def decision_facts(
    context: CallContext,
    *,
    decision_id: str,
    seq: int,
    status: DecisionStatus,
    args_commitment: str,
    **more: Any,
) -> DecisionFacts:
    """A row about a call as far as it came; what is not known yet is null."""
    run, request = context.run, context.request
    plan = {"plan_id": request.plan_id, "step_id": request.step_id}
    return DecisionFacts(
        decision_id=decision_id,
        seq=seq,
        tenant_id=context.caller.tenant_id,
        status=status,
        principal_chain=context.caller.chain,
        capability=_capability(context),
        lineage=_lineage(context),
        created_at=utcnow(),
        run_id=run.run_id if run else None,
        trace_id=context.trace_id,
        span_id=_span_in(context.trace_id),
        session_id=request.session_id,
        intent=run.intent if run else None,
        decision_key=decision_key_of(context),
        policy_decision=shown_decision(context, args_commitment),
        evidence_refs=request.evidence_refs,
        controls_active=_controls(context),
        plan=plan if request.plan_id or request.step_id else None,
        args_commitment=args_commitment,
        **more,
    )


def _span_in(trace_id: str | None) -> str | None:
    """Where in the run's trace the call was proposed; a request of another trace is not in it."""
    trace = current_trace()
    return trace.span_id if trace is not None and trace.trace_id == trace_id else None


def _controls(context: CallContext) -> tuple[str, ...]:
    if context.routed_from is None:
        return CONTROLS
    return (*CONTROLS, f"{FALLBACK_MARK}{context.routed_from}")


def shown_decision(context: CallContext, args_commitment: str) -> dict[str, Any] | None:
    """The decision with its inputs hashed over the commitment: a record gives no value away."""
    if context.decision is None or context.inputs is None:
        return None
    hidden = context.inputs.document()
    hidden["request"] = {**hidden["request"], "args": args_commitment}
    if hidden.pop("capability") != context.capability.readable:
        raise LookupError("policy was asked about another capability")
    spelled = frame_around("capability", hidden).holding(context.capability.readable_json)
    return {**context.decision.document(), "inputs_hash": digest_bytes(spelled)}


def policy_approval(context: CallContext) -> list[dict[str, Any]]:
    """The approve step where no gate was asked for: taken by the rule, and recorded so."""
    if context.decision is None or not proposes_first(context.effective_mode):
        return []
    vote = {"approver": context.decision.approver, "verdict": "approve"}
    return [{"approval_id": None, "gate": None, "votes": [vote], "state": "approved"}]


def _capability(context: CallContext) -> CapabilityFacts:
    if context.permitted is None:
        return CapabilityFacts(id=context.request.capability_id[:200])
    return CapabilityFacts(
        id=context.capability.capability_id,
        cls=context.capability.capability_class.value,
        mode_requested=context.mode_requested.value,
        mode_effective=context.effective_mode.value,
        mode_highest=context.capability.approval_mode.value,
    )


def _lineage(context: CallContext) -> LineageFacts:
    if context.permitted is None or context.compiled is None:
        return LineageFacts(runtime_build=contextos.__version__)
    capability, packs = context.capability, context.compiled.packs
    return LineageFacts(
        adapter_id=capability.adapter_id,
        adapter_version=capability.version,
        manifest_hash=capability.manifest_hash,
        pack_ref=packs[0].ref if packs else None,
        pack_hash=packs[0].digest if packs else None,
        policy_bundles=[_bundle(bundle) for bundle in context.compiled.bundles],
        protocol=capability.manifest.get("protocol"),
        protocol_version=capability.manifest.get("protocol_version"),
        runtime_build=contextos.__version__,
    )


def _bundle(bundle: Any) -> Mapping[str, Any]:
    return {
        "bundle_id": bundle.bundle_id,
        "version": bundle.ref.partition("@")[2],
        "hash": bundle.digest,
    }


def decision_key_of(context: CallContext) -> str | None:
    """Which decision a call takes: as its permission says, else its manifest."""
    if context.grant is not None and context.grant.decision_binding:
        return context.grant.decision_binding
    if context.permitted is None:
        return None
    bindings = context.declaration.get("decision_bindings") or []
    return str(bindings[0]) if bindings else None
