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
from registry.recorded_inputs import RecordedInput, recorded_inputs
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
    source: RecordedInput | None = None  # the recorded call that the input comes from

    @property
    def decision_id(self) -> str | None:
        """The decision that is taken again."""
        return self.source.decision_id if self.source else None

    @property
    def recorded_at(self) -> str | None:
        """When it was taken."""
        return self.source.recorded_at if self.source else None

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where they part; nothing = the change would not have been noticed."""
        before, after = self.published.verdict(), self.candidate.verdict()
        return tuple(
            Difference(name, before[name], after[name])
            for name in before
            if name not in _NOT_COMPARED and before[name] != after[name]
        )


@dataclass(frozen=True, slots=True)
class Retrial:
    """The last recorded calls decided again, newest first."""

    outcomes: tuple[Outcome, ...]
    left_out: int  # erased, or their manifest is not trusted any more

    @property
    def changed(self) -> tuple[Outcome, ...]:
        """Those on which the two policies part."""
        return tuple(outcome for outcome in self.outcomes if outcome.differences)


def simulate_input(
    *, tenant_id: str, bundle: Mapping[str, Any], document: Mapping[str, Any]
) -> Outcome:
    """One input before the published policy, and before the same with this bundle in it."""
    now, candidate = _sides(tenant_id, compile_bundle(bundle))
    inputs = _completed(read_inputs(document), tenant_id, utcnow())
    return _outcome(inputs, now, candidate)


def simulate_recorded(*, tenant_id: str, bundle: Mapping[str, Any], count: int) -> Retrial:
    """The same for the last recorded calls; refuses where there are none."""
    now, candidate = _sides(tenant_id, compile_bundle(bundle))
    outcomes: list[Outcome] = []
    left_out = 0
    for recorded in recorded_inputs(tenant_id, count):
        if recorded.document is None:
            left_out += 1
            continue
        outcomes.append(_outcome(read_inputs(recorded.document), now, candidate, recorded))
    if not outcomes and not left_out:
        raise coded_error("policy.no_recorded_calls")
    return Retrial(tuple(outcomes), left_out)


def _outcome(
    inputs: PolicyInputs,
    now: list[CompiledBundle],
    candidate: list[CompiledBundle],
    source: RecordedInput | None = None,
) -> Outcome:
    published = evaluate(inputs, now)
    tried = evaluate(inputs, candidate, inputs_hash=published.inputs_hash)
    return Outcome(published, tried, source)


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
