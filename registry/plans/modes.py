"""The mode a planned call would run in: the declared maximum, or what policy lowers it to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contextos.core.modes import ApprovalMode, highest
from registry.plans.pack import PlanCapability, PlanPack
from registry.policy.constraints import is_satisfied
from registry.policy.terms import fits
from registry.policy.types import mode_named

NEEDS_APPROVAL = frozenset({ApprovalMode.NETWORK, ApprovalMode.DELEGATED, ApprovalMode.DESTRUCTIVE})


@dataclass(frozen=True, slots=True)
class EffectiveMode:
    """The mode, if there is one, and whether a policy named one that does not exist."""

    effective: ApprovalMode | None
    names_unknown: bool = False
    is_gated: bool = False

    @property
    def needs_approval(self) -> bool:
        """A mode nobody knows is treated as a risky one; a gate asks people in any mode."""
        return self.is_gated or self.effective is None or self.effective in NEEDS_APPROVAL


def effective_mode(
    pack: PlanPack, capability: PlanCapability | None, args: Mapping[str, Any]
) -> EffectiveMode:
    """Lowered by the policies whose bounds the arguments keep, of several by the least."""
    maximum = None if capability is None else capability.mode
    if capability is None or maximum is None:
        return EffectiveMode(None)
    named = [mode_named(value) for value in _applying(pack, capability, args)]
    lowered = [
        mode
        for mode in named
        if mode is not None and mode <= maximum and fits(mode, capability.capability_class)
    ]
    return EffectiveMode(
        effective=highest(lowered) if lowered else maximum, names_unknown=None in named
    )


def _applying(pack: PlanPack, capability: PlanCapability, args: Mapping[str, Any]) -> Iterator[Any]:
    for policy in pack.mode_policies.get(capability.capability_id, ()):
        if isinstance(policy.when, dict) and is_satisfied(args, policy.when):
            yield policy.effective_mode
