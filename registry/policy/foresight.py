"""How policy would take a call that is only planned: the part that is certain already. Pure.

What the call may still bring along, evidence and a user's delegation, is not missed yet, and the
run's safety mode is left to whoever asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextos.core.modes import ApprovalMode
from registry.policy.asking import PolicyCase, ask, open_case
from registry.policy.bundles import CompiledBundle
from registry.policy.duties import duties_of
from registry.policy.engine import refused_by_rules, without_gate
from registry.policy.terms import settle_terms
from registry.policy.types import PolicyDecision, PolicyInputs


@dataclass(frozen=True, slots=True)
class Foresight:
    """The mode a planned call would run in, and what stands in its way."""

    mode: ApprovalMode | None
    gate: str | None = None
    refusal: str | None = None  # one sentence; nothing the call brings along averts it
    depends_on_args: bool = True  # whether other arguments might be refused less
    arg_constraints: Mapping[str, Any] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    prohibits: tuple[str, ...] = ()


def foresee(inputs: PolicyInputs, bundles: Sequence[CompiledBundle]) -> Foresight:
    """What the bundles would make of these inputs."""
    case = open_case(inputs, bundles)
    maximum = case.maximum
    if maximum is None:
        return Foresight(None)
    if not case.bundles:
        return Foresight(maximum, refusal="The tenant has no published policy bundle.")
    return _foreseen(case, maximum)


def _foreseen(case: PolicyCase, maximum: ApprovalMode) -> Foresight:
    found = ask(case)
    refused = refused_by_rules(case, found)
    if refused is not None:
        return Foresight(maximum, refusal=_sentence(refused))
    terms = settle_terms(case, maximum, found)
    duties = duties_of(terms, found)
    ungated = without_gate(case, terms, found)
    return Foresight(
        mode=terms.mode,
        gate=terms.gate,
        refusal=_sentence(ungated) if ungated else duties.clash,
        arg_constraints=duties.arg_constraints,
        requires=duties.requires,
        prohibits=duties.prohibits,
    )


def _sentence(decision: PolicyDecision) -> str:
    return decision.reason.partition(": ")[2]
