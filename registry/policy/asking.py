"""Puts one call before every rule and guardrail that may speak about it, and notes the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from contextos.core.modes import ApprovalMode
from registry.policy.bundles import CompiledBundle, CompiledGuardrail, CompiledRule
from registry.policy.codes import Reason
from registry.policy.logic import Facts, LogicError, read_facts
from registry.policy.selectors import CallScope
from registry.policy.types import PolicyDecision, PolicyInputs, RuleKind, mode_named


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule whose condition holds, with its bundle's weight."""

    rule: CompiledRule
    bundle: CompiledBundle

    @property
    def order(self) -> tuple[int, int, str, int]:
        return (-self.rule.kind, -self.bundle.priority, self.bundle.ref, self.rule.position)


@dataclass(slots=True)
class Findings:
    """What asking every rule and guardrail brought up."""

    hits: list[Hit] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    refusing: list[str] = field(default_factory=list)
    escalating: list[CompiledGuardrail] = field(default_factory=list)

    @property
    def matched(self) -> tuple[str, ...]:
        """The ids of the rules that hold, the strongest first."""
        return tuple(hit.rule.rule_id for hit in self.hits)

    @property
    def asks_people(self) -> bool:
        """Whether a guardrail or the strongest rule wants an approval."""
        by_rule = bool(self.hits) and self.hits[0].rule.kind is RuleKind.APPROVAL
        return by_rule or bool(self.escalating)


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """One call before the decision."""

    inputs: PolicyInputs
    bundles: tuple[CompiledBundle, ...]
    inputs_hash: str

    @property
    def maximum(self) -> ApprovalMode | None:
        return mode_named(self.inputs.capability.get("approval_mode"))

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


def open_case(
    inputs: PolicyInputs, bundles: Sequence[CompiledBundle], inputs_hash: str = ""
) -> PolicyCase:
    """The call with the bundles that speak for its tenant, the weightiest first."""
    tenant = inputs.run.get("tenant_id")
    speaking = [bundle for bundle in bundles if bundle.covers_tenant(tenant)]
    speaking.sort(key=lambda bundle: (-bundle.priority, bundle.ref))
    return PolicyCase(inputs, tuple(speaking), inputs_hash)


def ask(case: PolicyCase) -> Findings:
    """What every rule and guardrail says; the hits with the strongest first."""
    found = Findings()
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
                found.hits.append(Hit(rule, bundle))
    found.hits.sort(key=lambda hit: hit.order)
    return found


def _ask_guardrails(
    bundle: CompiledBundle, scope: CallScope, facts: Facts, found: Findings
) -> None:
    for guardrail in bundle.must_refuse:
        if _stands(guardrail, scope, facts, found):
            found.refusing.append(guardrail.guardrail_id)
    for guardrail in bundle.must_escalate:
        if _stands(guardrail, scope, facts, found):
            found.escalating.append(guardrail)


def _stands(guardrail: CompiledGuardrail, scope: CallScope, facts: Facts, found: Findings) -> bool:
    if not guardrail.selector.matches(scope):
        return False
    return _holds(guardrail.guardrail_id, guardrail.condition.holds, facts, found)


def _holds(name: str, holds: Callable[[Facts], bool], facts: Facts, found: Findings) -> bool:
    try:
        return holds(facts)
    except LogicError:
        found.failed.append(name)
        return False
