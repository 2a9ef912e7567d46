"""What the rules that hold ask of a call: bounds on arguments, things to bring, things to leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from contextos.core.modes import ApprovalMode
from registry.policy.asking import Findings
from registry.policy.constraints import contradictions, merge
from registry.policy.terms import Terms

# What the mode itself asks for where no rule has spoken.
DEFAULT_REQUIRES: Mapping[ApprovalMode, tuple[str, ...]] = MappingProxyType(
    {
        ApprovalMode.LOCAL_WRITE: ("idempotency_key",),
        ApprovalMode.DELEGATED: ("evidence", "user_delegation"),
    }
)


@dataclass(frozen=True, slots=True)
class Duties:
    """The demands of all rules together, and where no call could meet them."""

    arg_constraints: Mapping[str, Any]
    requires: tuple[str, ...]
    prohibits: tuple[str, ...]

    @property
    def clash(self) -> str | None:
        """The sentence that says on what the rules contradict each other."""
        both = sorted(set(self.requires) & set(self.prohibits))
        found = both or list(contradictions(self.arg_constraints))
        if not found:
            return None
        return f"The rules that apply can't all be met: they contradict each other on {found[0]}."


def duties_of(terms: Terms, found: Findings) -> Duties:
    """The duties of a call that goes ahead on these terms."""
    effects = [hit.rule.effect for hit in found.hits]
    requires = {item for effect in effects for item in effect.requires}
    if not effects:
        requires.update(DEFAULT_REQUIRES.get(terms.mode, ()))
    return Duties(
        arg_constraints=merge(effect.arg_constraints for effect in effects),
        requires=tuple(sorted(requires)),
        prohibits=tuple(sorted({item for effect in effects for item in effect.prohibits})),
    )
