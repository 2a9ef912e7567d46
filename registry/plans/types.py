"""A plan's verdict and what it is made of: small frozen types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from registry.policy import Foresight

# In the order in which findings of one step are listed.
CODES = (
    "plan.dependency_cycle",
    "intent.act_in_read_only",
    "permission.missing",
    "permission.denied",
    "capability.unknown",
    "capability.quarantined",
    "capability.disabled",
    "skill.capability_not_permitted",
    "skill.precondition_failed",
    "alias.not_read_only",
    "args.schema",
    "args.constraint",
    "idempotency.missing",
    "idempotency.pattern",
    "idempotency.reused",
    "mode.unknown",
    "mode.above_maximum",
    "mode.above_permission",
    "mode.above_safety_mode",
    "decision.mismatch",
    "evidence.not_available",
)
RANK_BY_CODE = {code: rank for rank, code in enumerate(CODES)}
# The planner can mend these by itself, with other arguments, keys or order.
_MENDABLE = ("args.", "idempotency.", "evidence.", "plan.")

Verdict = Literal["ok", "replan", "reject"]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call of a plan as policy is asked about it."""

    capability_id: str
    args: Mapping[str, Any]
    evidence_refs: tuple[str, ...] = ()  # ids of the steps whose evidence it will cite
    evidence_keys: tuple[str, ...] = ()


class PolicyAhead(Protocol):
    """Whoever knows the run's policy; without one the pack's own table of modes is read."""

    def __call__(self, call: PlannedCall) -> Foresight: ...


@dataclass(frozen=True, slots=True)
class PlanFinding:
    """One thing wrong with one step of a plan."""

    step_id: str
    code: str
    message: str
    severity: str = "block"

    @property
    def is_mendable(self) -> bool:
        return self.code.startswith(_MENDABLE)

    def document(self) -> dict[str, str]:
        return {
            "step_id": self.step_id,
            "code": self.code,
            "message": self.message,
            "severity": self.severity,
        }


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """What the critic says of a plan."""

    findings: tuple[PlanFinding, ...] = ()
    approval_required_steps: tuple[str, ...] = ()
    effective_modes: Mapping[str, str] = field(default_factory=dict)
    expanded_steps: tuple[Mapping[str, Any], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """`replan` only if nothing but arguments, keys, evidence or order is wrong."""
        if not self.findings:
            return "ok"
        return "replan" if all(finding.is_mendable for finding in self.findings) else "reject"

    def document(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "verdict": self.verdict,
            "findings": [finding.document() for finding in self.findings],
            "approval_required_steps": list(self.approval_required_steps),
            "effective_modes": dict(self.effective_modes),
            "expanded_steps": [dict(step) for step in self.expanded_steps],
        }
