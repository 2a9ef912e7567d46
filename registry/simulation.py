"""What a policy bundle would decide, beside what the published policy decides now; no effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from registry.policy import (
    CompiledBundle,
    PolicyDecision,
    PolicyInputs,
    compile_bundle,
    evaluate,
    read_inputs,
    time_facts,
)
from registry.recorded_inputs import recorded_inputs
from registry.selectors import generation_of
from registry.tenant_documents import documents_of

# These follow from which bundles were asked, not from what they say.
_NOT_COMPARED = frozenset({"bundle_versions", "inputs_hash"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One member on which the two decisions differ."""

    member: str
    published: Any
    candidate: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both decisions on one input."""

    published: PolicyDecision
    candidate: PolicyDecision
    decision_id: str | None = None  # of the recorded call that the input comes from
    recorded_at: str | None = None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where they part; nothing = the change would not have been noticed."""
        before, after = self.published.verdict(), self.candidate.verdict()
        return tuple(
            Difference(name, before[name], after[name])
            for name in before
            if name not in _NOT_COMPARED and before[name] != after[name]
        )


def simulate_input(
    *, tenant_id: str, bundle: Mapping[str, Any], document: Mapping[str, Any]
) -> Outcome:
    """One input before the published policy, and before the same with this bundle in it."""
    now, candidate = _sides(tenant_id, compile_bundle(bundle))
    inputs = _completed(read_inputs(document), tenant_id, utcnow())
    return Outcome(evaluate(inputs, now), evaluate(inputs, candidate))


def simulate_recorded(
    *, tenant_id: str, bundle: Mapping[str, Any], count: int
) -> tuple[Outcome, ...]:
    """The same for the last recorded calls, newest first."""
    now, candidate = _sides(tenant_id, compile_bundle(bundle))
    outcomes: list[Outcome] = []
    for recorded in recorded_inputs(tenant_id, count):
        inputs = read_inputs(recorded.document)
        outcomes.append(
            Outcome(
                evaluate(inputs, now),
                evaluate(inputs, candidate),
                recorded.decision_id,
                recorded.recorded_at,
            )
        )
    return tuple(outcomes)


def _sides(
    tenant_id: str, candidate: CompiledBundle
) -> tuple[list[CompiledBundle], list[CompiledBundle]]:
    documents = documents_of(tenant_id, generation_of(tenant_id))
    for ref, why in documents.unusable_bundles.items():
        message = f"The published policy bundle {ref} can't be used: {why}"
        raise coded_error("policy.bundle_unusable", message=message)
    published = [item.bundle for item in documents.bundles]
    return published, [*_others(published, candidate.bundle_id), candidate]


def _others(bundles: Iterable[CompiledBundle], bundle_id: str) -> list[CompiledBundle]:
    return [bundle for bundle in bundles if bundle.bundle_id != bundle_id]


def _completed(inputs: PolicyInputs, tenant_id: str, moment: datetime) -> PolicyInputs:
    """An input written by hand need not name the tenant and the time."""
    run = {"tenant_id": tenant_id, **inputs.run}
    return replace(inputs, run=run, time=inputs.time or time_facts(moment))
