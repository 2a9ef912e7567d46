"""What people are asked to approve: a digest of exactly what will run, and a view computed by rule.

Nothing an agent wrote goes into the summary; arguments stay in the payload store.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from approvals.opening import Subject
from approvals.selectors import OpenGate
from contextos.core.canonical import digest
from contextos.core.envelopes import PrincipalRef
from contextos.core.modes import ApprovalMode
from contextos.core.secret_schemas import secret_pointers
from contextos.identity.models import Agent
from gateway.amounts import amount_in
from gateway.context import CallContext
from gateway.hashes import house_key, keyed_hash
from gateway.idempotency import without_key
from gateway.recording import shown_decision
from registry.authorship import authors_of_bundles, authors_of_version
from registry.policy import PolicyDecision
from registry.resolution import ResolvedCapability
from registry.selectors import is_published

SUBJECT_KIND = "tool_call"
_RISK = {ApprovalMode.DESTRUCTIVE: 40, ApprovalMode.DELEGATED: 30, ApprovalMode.NETWORK: 20}


def approval_digest(
    *,
    tenant_id: str,
    capability: ResolvedCapability,
    args_commitment: str,
    decision: PolicyDecision,
    chain: tuple[PrincipalRef, ...],
    gate: OpenGate,
) -> str:
    """Covers all that a yes is bound to; a change of any part is another digest."""
    mode = decision.effective_approval_mode or capability.approval_mode
    return digest(
        {
            "tenant_id": tenant_id,
            "capability_id": capability.capability_id,
            "manifest_hash": capability.manifest_hash,
            "args": args_commitment,
            "mode": mode.value,
            "principal_chain": [link.as_dict() for link in chain],
            "gate": {"gate_id": gate.gate_id, "version": gate.version, "digest": gate.digest},
            "policy": decision.projection(),
        }
    )


def subject_of(
    context: CallContext, *, tool_call_id: str, decision_id: str, payload_id: str, commitment: str
) -> Subject:
    """The frozen view of a call for the people at its gate."""
    run, decision, gate = context.run, context.decision, context.gate
    if run is None or decision is None or gate is None:
        raise LookupError("the call is not routed to a gate")
    capability, caller = context.capability, context.caller
    amount, unit = amount_in(context.args)
    return Subject(
        kind=SUBJECT_KIND,
        id=tool_call_id,
        digest=approval_digest(
            tenant_id=run.tenant_id,
            capability=capability,
            args_commitment=commitment,
            decision=decision,
            chain=caller.chain,
            gate=gate,
        ),
        view={
            **_view(context, tool_call_id, decision_id),
            "policy": shown_decision(context, commitment),
        },
        excluded=_excluded(context, decision),
        payload_id=payload_id,
        policy_decision_id=decision.policy_decision_id or "",
        effective_mode=context.effective_mode.value,
        risk=_risk(context, amount),
        capability_id=capability.capability_id,
        agent_id=caller.agent.id,
        user_id=caller.user_id,
        amount=amount,
        unit=unit,
        likeness=_likeness(context),
        mark=_first_mark(context, gate),
    )


def mark_of(generation: int, gate: OpenGate) -> str:
    """Names the state of registry, policy and gate that a digest was computed on."""
    return f"{generation}:{gate.version_id}"


def _first_mark(context: CallContext, gate: OpenGate) -> str:
    """Empty, so that the sweep looks at it at once, for a run still pinned to an older version."""
    current = is_published(context.capability.version_id)
    return mark_of(context.generation, gate) if current else ""


def _view(context: CallContext, tool_call_id: str, decision_id: str) -> dict[str, Any]:
    capability, run = context.capability, context.run
    return {
        "summary": _summary(context),
        "tool_call_id": tool_call_id,
        "decision_id": decision_id,
        "run_id": run.run_id if run else None,
        "trace_id": context.trace_id,
        "intent": run.intent if run else None,
        "environment": run.environment if run else None,
        "capability": {
            "id": capability.capability_id,
            "class": capability.capability_class.value,
            "mode_highest": capability.approval_mode.value,
            "adapter_id": capability.adapter_id,
            "version": capability.version,
            "version_id": capability.version_id,
            "manifest_hash": capability.manifest_hash,
            "description": capability.declaration.get("description", ""),
        },
        "requested_by": [link.as_dict() for link in context.caller.chain],
        "evidence_refs": list(context.request.evidence_refs),
        "reversible": _reversible(capability),
        "labels": _labels(capability),
        "secrets": list(secret_pointers(capability.input_schema)),
    }


def _summary(context: CallContext) -> str:
    """What would happen, from the manifest's words and typed values only."""
    amount, unit = amount_in(context.args)
    parts = [context.capability.capability_id]
    if amount is not None:
        parts.append(f"{amount.normalize():f} {unit}".strip())
    parts.append(context.effective_mode.value)
    return " · ".join(parts)


def _labels(capability: ResolvedCapability) -> dict[str, dict[str, str]]:
    """What each argument is called and measured in, from the reviewed schema."""
    schema = capability.input_schema
    members = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return {
        name: {
            key: str(member[key])[:200]
            for key in ("title", "description", "format", "x-unit", "writeOnly")
            if isinstance(member, dict) and member.get(key)
        }
        for name, member in members.items()
    }


def _reversible(capability: ResolvedCapability) -> bool:
    keys = capability.declaration.get("evidence_keys") or []
    return any("reversal" in str(key) for key in keys)


def _excluded(context: CallContext, decision: PolicyDecision) -> frozenset[str]:
    """Whoever asked, owns the agent, or wrote the manifest or a rule that took part."""
    caller = context.caller
    owners = Agent.objects.filter(tenant_id=caller.tenant_id, agent_id=caller.agent.id)
    people = {caller.user_id, *owners.values_list("owner__user_id", flat=True)}
    people |= authors_of_version(context.capability.version_id)
    people |= authors_of_bundles(caller.tenant_id, decision.bundle_versions)
    return frozenset(people - {""})


def _risk(context: CallContext, amount: Decimal | None) -> int:
    rank = _RISK.get(context.effective_mode, 10)
    rank += 0 if _reversible(context.capability) else 5
    return rank + (min(9, int(math.log10(amount + 1))) if amount and amount > 0 else 0)


def _likeness(context: CallContext) -> str:
    """Equal for the same ask by the same agent, whatever its key; keyed: it tells nothing."""
    asked = [
        context.caller.agent.id,
        context.caller.user_id,
        context.capability.capability_id,
        without_key(context.args),
    ]
    return keyed_hash(house_key("likeness"), asked)
