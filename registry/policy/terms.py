"""Mode, gate and quorum of a call that no rule denies.

Within the winning kind each of the three comes from the rule of the highest priority that states
it; where priorities are equal the stricter wins.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextos.core.modes import ApprovalMode, CapabilityClass, clamp, highest, mode_fits_class
from registry.policy.asking import Findings, Hit, PolicyCase
from registry.policy.bundles import CompiledGuardrail


@dataclass(frozen=True, slots=True)
class Terms:
    """How the call may go ahead, before constraints and obligations."""

    mode: ApprovalMode
    gate: str | None
    quorum: int | None


def settle_terms(case: PolicyCase, maximum: ApprovalMode, found: Findings) -> Terms:
    """How the call may go ahead."""
    hits = found.hits
    winning = [hit for hit in hits if hit.rule.kind is hits[0].rule.kind]
    mode, lowering = _effective_mode(case, maximum, winning)
    gate, quorum = _named_gate(winning), _quorum(winning)
    if found.escalating:
        return _escalated(case, maximum, gate, quorum, found.escalating)
    dropped = bool(lowering) and all(hit.rule.effect.drops_gate for hit in lowering)
    return Terms(mode, gate or (None if dropped else case.manifest_gate), quorum)


def _escalated(
    case: PolicyCase,
    maximum: ApprovalMode,
    gate: str | None,
    quorum: int | None,
    escalating: list[CompiledGuardrail],
) -> Terms:
    """A guardrail cancels every lowering and insists on people."""
    named = sorted(guardrail.gate for guardrail in escalating if guardrail.gate)
    wanted = [guardrail.quorum or 0 for guardrail in escalating]
    most = max([quorum or 0, *wanted])
    return Terms(maximum, gate or (named[0] if named else case.manifest_gate), most or None)


def _effective_mode(
    case: PolicyCase, maximum: ApprovalMode, winning: list[Hit]
) -> tuple[ApprovalMode, list[Hit]]:
    """The mode, and the rules that lowered it."""
    stating = [hit for hit in winning if hit.rule.effect.approval_mode is not None]
    if not stating:
        return maximum, []
    top = max(hit.bundle.priority for hit in stating)
    chosen = [hit for hit in stating if hit.bundle.priority == top]
    stated = {id(hit): _bounded(case, maximum, hit) for hit in chosen}
    mode = highest(stated.values())
    return mode, [hit for hit in chosen if stated[id(hit)] is mode and mode < maximum]


def _bounded(case: PolicyCase, maximum: ApprovalMode, hit: Hit) -> ApprovalMode:
    """What a rule's mode comes to: never above the maximum, never one the class can't have."""
    mode = clamp(hit.rule.effect.approval_mode or maximum, maximum)
    return mode if fits(mode, case.inputs.capability.get("capability_class")) else maximum


def fits(mode: ApprovalMode, capability_class: object) -> bool:
    """Whether a mode can be an effective one for the class; an unknown class settles nothing."""
    try:
        return mode_fits_class(mode, CapabilityClass(str(capability_class)))
    except ValueError:
        return True


def _named_gate(winning: list[Hit]) -> str | None:
    """The gate of the strongest rule that names one; of equals the first in the alphabet."""
    named = [
        (-hit.bundle.priority, -(hit.rule.effect.quorum or 0), hit.rule.effect.gate)
        for hit in winning
        if hit.rule.effect.gate is not None
    ]
    return min(named)[2] if named else None


def _quorum(winning: list[Hit]) -> int | None:
    stated = [
        (hit.bundle.priority, hit.rule.effect.quorum)
        for hit in winning
        if hit.rule.effect.quorum is not None
    ]
    return max(stated)[1] if stated else None
