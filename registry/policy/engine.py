"""Decides one governed call from its inputs and the tenant's bundles; pure and deterministic.

Deny beats approval beats allow. Within the winning kind each of mode, gate and quorum comes from
the rule of the highest priority that states it; where priorities are equal the stricter wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from contextos.core.canonical import digest
from contextos.core.modes import ApprovalMode, CapabilityClass, clamp, highest, mode_fits_class
from registry.policy.bundles import CompiledBundle, CompiledGuardrail, CompiledRule
from registry.policy.codes import Reason
from registry.policy.constraints import contradictions, merge
from registry.policy.logic import Facts, LogicError, read_facts
from registry.policy.selectors import CallScope
from registry.policy.types import PolicyDecision, PolicyInputs, RuleKind

# What the mode itself asks for where no rule has spoken.
DEFAULT_REQUIRES: dict[ApprovalMode, tuple[str, ...]] = {
    ApprovalMode.LOCAL_WRITE: ("idempotency_key",),
    ApprovalMode.DELEGATED: ("evidence", "user_delegation"),
}


@dataclass(frozen=True, slots=True)
class _Hit:
    """A rule whose condition holds, with its bundle's weight."""

    rule: CompiledRule
    bundle: CompiledBundle

    @property
    def order(self) -> tuple[int, int, str, int]:
        return (-self.rule.kind, -self.bundle.priority, self.bundle.ref, self.rule.position)


@dataclass(slots=True)
class _Findings:
    """What asking every rule and guardrail brought up."""

    hits: list[_Hit] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    refusing: list[str] = field(default_factory=list)
    escalating: list[CompiledGuardrail] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Case:
    """One call before the decision."""

    inputs: PolicyInputs
    bundles: tuple[CompiledBundle, ...]
    inputs_hash: str

    @property
    def maximum(self) -> ApprovalMode | None:
        return _mode(self.inputs.capability.get("approval_mode"))

    @property
    def manifest_gate(self) -> str | None:
        gate = self.inputs.capability.get("requires_approval_gate")
        return gate if isinstance(gate, str) and gate else None

    def deny(self, reason: Reason, sentence: str, matched: Sequence[str] = ()) -> PolicyDecision:
        return PolicyDecision(
            allowed=False,
            reason=f"{reason.value}: {sentence}",
            effective_approval_mode=self.maximum,
            inputs_hash=self.inputs_hash,
            matched_rule_ids=tuple(matched),
            bundle_versions=tuple(bundle.ref for bundle in self.bundles),
        )


@dataclass(frozen=True, slots=True)
class _Terms:
    """How the call may go ahead, before constraints and obligations."""

    mode: ApprovalMode
    gate: str | None
    quorum: int | None


def evaluate(inputs: PolicyInputs, bundles: Sequence[CompiledBundle]) -> PolicyDecision:
    """The decision on a call; raises only if the inputs have no canonical JSON form."""
    case = _open(inputs, bundles)
    maximum = case.maximum
    early = _before_rules(case, maximum)
    if early is not None or maximum is None:
        return early or case.deny(Reason.MODE_UNKNOWN, "The capability declares no known mode.")
    found = _ask(case)
    hits = sorted(found.hits, key=lambda hit: hit.order)
    matched = tuple(hit.rule.rule_id for hit in hits)
    refused = _refused(case, found, hits, matched)
    if refused is not None:
        return refused
    terms = _terms(case, maximum, hits, found.escalating)
    return _without_footing(case, terms, hits, found, matched) or _allow(case, terms, hits, matched)


def _open(inputs: PolicyInputs, bundles: Sequence[CompiledBundle]) -> _Case:
    tenant = inputs.run.get("tenant_id")
    speaking = [bundle for bundle in bundles if bundle.covers_tenant(tenant)]
    speaking.sort(key=lambda bundle: (-bundle.priority, bundle.ref))
    return _Case(inputs, tuple(speaking), digest(inputs.document()))


def _before_rules(case: _Case, maximum: ApprovalMode | None) -> PolicyDecision | None:
    if not case.inputs.permitted:
        return case.deny(Reason.PERMISSION_MISSING, "No Context Pack permits this capability.")
    if not case.bundles:
        return case.deny(Reason.NO_BUNDLE, "The tenant has no published policy bundle.")
    requested = case.inputs.mode_requested
    if requested is None or maximum is None:
        return None
    mode = _mode(requested)
    if mode is None:
        return case.deny(Reason.MODE_UNKNOWN, "The requested mode is not one of the five.")
    if mode > maximum:
        sentence = f"{mode} was requested and the capability declares {maximum} at most."
        return case.deny(Reason.ABOVE_MAXIMUM, sentence)
    return None


# -- asking the rules ----------------------------------------------------------------------------


def _ask(case: _Case) -> _Findings:
    found = _Findings()
    try:
        facts = read_facts(case.inputs.readable())
    except LogicError as error:
        found.failed.append(str(error))
        return found
    scope = CallScope.of(case.inputs)
    for bundle in case.bundles:
        _ask_guardrails(bundle, scope, facts, found)
        for rule in bundle.rules_for(scope):
            if _holds(rule.rule_id, rule.condition.holds, facts, found):
                found.hits.append(_Hit(rule, bundle))
    return found


def _ask_guardrails(
    bundle: CompiledBundle, scope: CallScope, facts: Facts, found: _Findings
) -> None:
    for guardrail in bundle.must_refuse:
        if _stands(guardrail, scope, facts, found):
            found.refusing.append(guardrail.guardrail_id)
    for guardrail in bundle.must_escalate:
        if _stands(guardrail, scope, facts, found):
            found.escalating.append(guardrail)


def _stands(guardrail: CompiledGuardrail, scope: CallScope, facts: Facts, found: _Findings) -> bool:
    if not guardrail.selector.matches(scope):
        return False
    return _holds(guardrail.guardrail_id, guardrail.condition.holds, facts, found)


def _holds(name: str, holds: Callable[[Facts], bool], facts: Facts, found: _Findings) -> bool:
    try:
        return holds(facts)
    except LogicError:
        found.failed.append(name)
        return False


def _refused(
    case: _Case, found: _Findings, hits: list[_Hit], matched: tuple[str, ...]
) -> PolicyDecision | None:
    if found.failed:
        sentence = f"The rule {found.failed[0]} could not be evaluated."
        return case.deny(Reason.EVALUATION_ERROR, sentence, (*found.failed, *matched))
    if found.refusing:
        sentence = f"The guardrail {found.refusing[0]} refuses this call."
        return case.deny(Reason.REFUSED_BY_GUARDRAIL, sentence, (*found.refusing, *matched))
    if hits and hits[0].rule.kind is RuleKind.DENY:
        sentence = f"The rule {matched[0]} denies this call."
        return case.deny(Reason.DENIED_BY_RULE, sentence, matched)
    return None


# -- mode, gate, quorum --------------------------------------------------------------------------


def _terms(
    case: _Case, maximum: ApprovalMode, hits: list[_Hit], escalating: list[CompiledGuardrail]
) -> _Terms:
    winning = [hit for hit in hits if hit.rule.kind is hits[0].rule.kind]
    mode, lowering = _effective_mode(case, maximum, winning)
    gate, quorum = _named_gate(winning), _quorum(winning)
    if escalating:
        return _escalated(case, maximum, gate, quorum, escalating)
    dropped = bool(lowering) and all(hit.rule.effect.drops_gate for hit in lowering)
    return _Terms(mode, gate or (None if dropped else case.manifest_gate), quorum)


def _escalated(
    case: _Case,
    maximum: ApprovalMode,
    gate: str | None,
    quorum: int | None,
    escalating: list[CompiledGuardrail],
) -> _Terms:
    """A guardrail cancels every lowering and insists on people."""
    named = sorted(guardrail.gate for guardrail in escalating if guardrail.gate)
    wanted = [guardrail.quorum or 0 for guardrail in escalating]
    most = max([quorum or 0, *wanted])
    return _Terms(maximum, gate or (named[0] if named else case.manifest_gate), most or None)


def _effective_mode(
    case: _Case, maximum: ApprovalMode, winning: list[_Hit]
) -> tuple[ApprovalMode, list[_Hit]]:
    """The mode, and the rules that lowered it."""
    stating = [hit for hit in winning if hit.rule.effect.approval_mode is not None]
    if not stating:
        return maximum, []
    top = max(hit.bundle.priority for hit in stating)
    chosen = [hit for hit in stating if hit.bundle.priority == top]
    stated = {id(hit): _bounded(case, maximum, hit) for hit in chosen}
    mode = highest(stated.values())
    return mode, [hit for hit in chosen if stated[id(hit)] is mode and mode < maximum]


def _bounded(case: _Case, maximum: ApprovalMode, hit: _Hit) -> ApprovalMode:
    """What a rule's mode comes to: never above the maximum, never one the class can't have."""
    mode = clamp(hit.rule.effect.approval_mode or maximum, maximum)
    return mode if fits(mode, case.inputs.capability.get("capability_class")) else maximum


def fits(mode: ApprovalMode, capability_class: object) -> bool:
    """Whether a mode can be an effective one for the class; an unknown class settles nothing."""
    try:
        return mode_fits_class(mode, CapabilityClass(str(capability_class)))
    except ValueError:
        return True


def _named_gate(winning: list[_Hit]) -> str | None:
    """The gate of the strongest rule that names one; of equals the first in the alphabet."""
    named = [
        (-hit.bundle.priority, -(hit.rule.effect.quorum or 0), hit.rule.effect.gate)
        for hit in winning
        if hit.rule.effect.gate is not None
    ]
    return min(named)[2] if named else None


def _quorum(winning: list[_Hit]) -> int | None:
    stated = [
        (hit.bundle.priority, hit.rule.effect.quorum)
        for hit in winning
        if hit.rule.effect.quorum is not None
    ]
    return max(stated)[1] if stated else None


# -- the verdict ---------------------------------------------------------------------------------


def _without_footing(
    case: _Case, terms: _Terms, hits: list[_Hit], found: _Findings, matched: tuple[str, ...]
) -> PolicyDecision | None:
    """The refusals that depend on how the call would go ahead."""
    safety = case.inputs.run.get("safety_mode")
    if safety is not None:
        limit = _mode(safety)
        if limit is None:
            return case.deny(Reason.MODE_UNKNOWN, "The run's safety mode is not known.", matched)
        if terms.mode > limit:
            sentence = f"The call would run as {terms.mode}; the run may reach {limit} at most."
            return case.deny(Reason.ABOVE_SAFETY_MODE, sentence, matched)
    asks_people = found.escalating or (hits and hits[0].rule.kind is RuleKind.APPROVAL)
    if asks_people and terms.gate is None:
        sentence = "An approval is asked for, and neither policy nor manifest names a gate."
        return case.deny(Reason.GATE_MISSING, sentence, matched)
    return None if hits else _default_refusal(case, terms)


def _default_refusal(case: _Case, terms: _Terms) -> PolicyDecision | None:
    if terms.mode is ApprovalMode.DESTRUCTIVE and terms.gate is None:
        sentence = "A destructive call goes through a gate, and none is named."
        return case.deny(Reason.GATE_MISSING, sentence)
    if terms.mode is ApprovalMode.DELEGATED:
        if not has_delegation(case.inputs):
            sentence = "A delegated call needs a valid user delegation."
            return case.deny(Reason.DELEGATION_MISSING, sentence)
        if not has_evidence(case.inputs):
            sentence = "A delegated call needs at least one evidence_ref that resolves."
            return case.deny(Reason.EVIDENCE_MISSING, sentence)
    return None


def has_delegation(inputs: PolicyInputs) -> bool:
    """Whether a user's delegation was verified; callers put it in only then."""
    delegation = inputs.user.get("delegation")
    return isinstance(delegation, dict) and bool(delegation)


def has_evidence(inputs: PolicyInputs) -> bool:
    """Whether at least one evidence_ref resolves in the tenant."""
    refs = inputs.evidence.get("refs")
    return isinstance(refs, list) and any(isinstance(ref, str) and ref for ref in refs)


def _allow(
    case: _Case, terms: _Terms, hits: list[_Hit], matched: tuple[str, ...]
) -> PolicyDecision:
    effects = [hit.rule.effect for hit in hits]
    constraints = merge(effect.arg_constraints for effect in effects)
    requires = {item for effect in effects for item in effect.requires}
    prohibits = {item for effect in effects for item in effect.prohibits}
    if not hits:
        requires.update(DEFAULT_REQUIRES.get(terms.mode, ()))
    clash = sorted(requires & prohibits) or list(contradictions(constraints))
    if clash:
        sentence = (
            f"The rules that apply can't all be met: they contradict each other on {clash[0]}."
        )
        return case.deny(Reason.CONFLICT, sentence, matched)
    return PolicyDecision(
        allowed=True,
        reason=_reason(terms, matched),
        effective_approval_mode=terms.mode,
        inputs_hash=case.inputs_hash,
        requires_approval_gate=terms.gate,
        quorum=terms.quorum if terms.gate else None,
        requires=tuple(sorted(requires)),
        prohibits=tuple(sorted(prohibits)),
        arg_constraints=constraints,
        matched_rule_ids=matched,
        bundle_versions=tuple(bundle.ref for bundle in case.bundles),
    )


def _reason(terms: _Terms, matched: tuple[str, ...]) -> str:
    if terms.gate:
        sentence = f"The call waits for an approval at {terms.gate}."
        return f"{Reason.APPROVAL_REQUIRED.value}: {sentence}"
    if matched:
        return f"{Reason.ALLOWED_BY_RULE.value}: The rule {matched[0]} allows this call."
    return f"{Reason.ALLOWED_BY_DEFAULT.value}: No rule matches and {terms.mode} calls are allowed."


def _mode(value: object) -> ApprovalMode | None:
    try:
        return ApprovalMode(value) if isinstance(value, str) else None
    except ValueError:
        return None
