"""Decides one governed call from its inputs and the tenant's bundles; pure and deterministic.

Deny beats approval beats allow. Within the winning kind each of mode, gate and quorum comes from
the rule of the highest priority that states it; where priorities are equal the stricter wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextos.core.canonical import digest
from contextos.core.modes import ApprovalMode
from registry.policy.asking import Findings, PolicyCase, ask, open_case
from registry.policy.bundles import CompiledBundle
from registry.policy.codes import Reason
from registry.policy.duties import duties_of
from registry.policy.terms import Terms, settle_terms
from registry.policy.types import PolicyDecision, PolicyInputs, RuleKind, mode_named


def evaluate(
    inputs: PolicyInputs, bundles: Sequence[CompiledBundle], *, inputs_hash: str | None = None
) -> PolicyDecision:
    """The decision on a call; raises only if the inputs have no canonical JSON form.

    Whoever asks about the same inputs twice may pass their hash from the first decision, and
    whoever shows no hash an empty one.
    """
    hashed = digest(inputs.document()) if inputs_hash is None else inputs_hash
    case = open_case(inputs, bundles, hashed)
    maximum = case.maximum
    early = _before_rules(case, maximum)
    if early is not None or maximum is None:
        return early or case.deny(Reason.MODE_UNKNOWN, "The capability declares no known mode.")
    found = ask(case)
    refused = refused_by_rules(case, found)
    if refused is not None:
        return refused
    terms = settle_terms(case, maximum, found)
    return _without_footing(case, terms, found) or _allow(case, terms, found)


def _before_rules(case: PolicyCase, maximum: ApprovalMode | None) -> PolicyDecision | None:
    if not case.inputs.permitted:
        return case.deny(Reason.PERMISSION_MISSING, "No Context Pack permits this capability.")
    if not case.bundles:
        return case.deny(Reason.NO_BUNDLE, "The tenant has no published policy bundle.")
    requested = case.inputs.mode_requested
    if requested is None or maximum is None:
        return None
    mode = mode_named(requested)
    if mode is None:
        return case.deny(Reason.MODE_UNKNOWN, "The requested mode is not one of the five.")
    if mode > maximum:
        sentence = f"{mode} was requested and the capability declares {maximum} at most."
        return case.deny(Reason.ABOVE_MAXIMUM, sentence)
    return None


def refused_by_rules(case: PolicyCase, found: Findings) -> PolicyDecision | None:
    """The refusal that no mode, gate or evidence could avert."""
    matched = found.matched
    if found.failed:
        sentence = f"The rule {found.failed[0]} could not be evaluated."
        return case.deny(Reason.EVALUATION_ERROR, sentence, (*found.failed, *matched))
    if found.refusing:
        sentence = f"The guardrail {found.refusing[0]} refuses this call."
        return case.deny(Reason.REFUSED_BY_GUARDRAIL, sentence, (*found.refusing, *matched))
    if found.hits and found.hits[0].rule.kind is RuleKind.DENY:
        sentence = f"The rule {matched[0]} denies this call."
        return case.deny(Reason.DENIED_BY_RULE, sentence, matched)
    return None


# -- the verdict ---------------------------------------------------------------------------------


def _without_footing(case: PolicyCase, terms: Terms, found: Findings) -> PolicyDecision | None:
    """The refusals that depend on how the call would go ahead."""
    matched, safety = found.matched, case.inputs.run.get("safety_mode")
    if safety is not None:
        limit = mode_named(safety)
        if limit is None:
            return case.deny(Reason.MODE_UNKNOWN, "The run's safety mode is not known.", matched)
        if terms.mode > limit:
            sentence = f"The call would run as {terms.mode}; the run may reach {limit} at most."
            return case.deny(Reason.ABOVE_SAFETY_MODE, sentence, matched)
    ungated = without_gate(case, terms, found)
    return ungated or (None if found.hits else _default_refusal(case, terms))


def without_gate(case: PolicyCase, terms: Terms, found: Findings) -> PolicyDecision | None:
    """The refusal of a call that has to pass a gate which nobody names."""
    if terms.gate is not None:
        return None
    if found.asks_people:
        sentence = "An approval is asked for, and neither policy nor manifest names a gate."
        return case.deny(Reason.GATE_MISSING, sentence, found.matched)
    if not found.hits and terms.mode is ApprovalMode.DESTRUCTIVE:
        sentence = "A destructive call goes through a gate, and none is named."
        return case.deny(Reason.GATE_MISSING, sentence)
    return None


def _default_refusal(case: PolicyCase, terms: Terms) -> PolicyDecision | None:
    if terms.mode is not ApprovalMode.DELEGATED:
        return None
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


def _allow(case: PolicyCase, terms: Terms, found: Findings) -> PolicyDecision:
    duties = duties_of(terms, found)
    if duties.clash is not None:
        return case.deny(Reason.CONFLICT, duties.clash, found.matched)
    return PolicyDecision(
        allowed=True,
        reason=_reason(terms, found.matched),
        effective_approval_mode=terms.mode,
        inputs_hash=case.inputs_hash,
        requires_approval_gate=terms.gate,
        quorum=terms.quorum if terms.gate else None,
        requires=duties.requires,
        prohibits=duties.prohibits,
        arg_constraints=duties.arg_constraints,
        matched_rule_ids=found.matched,
        bundle_versions=tuple(bundle.ref for bundle in case.bundles),
    )


def _reason(terms: Terms, matched: tuple[str, ...]) -> str:
    if terms.gate:
        sentence = f"The call waits for an approval at {terms.gate}."
        return f"{Reason.APPROVAL_REQUIRED.value}: {sentence}"
    if matched:
        return f"{Reason.ALLOWED_BY_RULE.value}: The rule {matched[0]} allows this call."
    return f"{Reason.ALLOWED_BY_DEFAULT.value}: No rule matches and {terms.mode} calls are allowed."
