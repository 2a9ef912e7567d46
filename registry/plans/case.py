"""One call of a plan with all that its checks look at, worked out once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contextos.core.modes import ApprovalMode
from registry.capability_names import CapabilityName
from registry.manifest.normalise import decision_key
from registry.packs import Permission, PermissionMatch, RunScope
from registry.plans.documents import Plan, PlanRun, Step
from registry.plans.expansion import Part
from registry.plans.modes import EffectiveMode, effective_mode
from registry.plans.once import once
from registry.plans.ordering import StepOrder
from registry.plans.pack import KEY, PlanCapability, PlanPack
from registry.plans.types import PlannedCall, PolicyAhead
from registry.policy import Foresight
from registry.policy.constraints import Violation, check_args
from registry.policy.types import mode_named
from registry.validation import Problem


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all the calls of a plan share."""

    plan: Plan
    pack: PlanPack
    run: PlanRun
    order: StepOrder
    policy: PolicyAhead | None = None
    cases: dict[str, list[Case]] = field(default_factory=dict)  # by step, once they are all known

    @property
    def intent(self) -> str | None:
        """The run knows best what it was opened for."""
        return self.run.intent or self.plan.intent

    @property
    def scope(self) -> RunScope:
        return RunScope(self.run.role, self.intent, self.run.environment)


@dataclass(frozen=True)
class Case:
    """One call under examination."""

    around: Surroundings
    part: Part

    @property
    def step(self) -> Step:
        return self.part.step

    @property
    def capability(self) -> PlanCapability | None:
        return self.part.capability

    @property
    def is_expanded(self) -> bool:
        """Whether the call comes from a skill step, whose arguments may still be incomplete."""
        return self.part.skill is not None

    @once
    def match(self) -> PermissionMatch:
        capability = self.capability
        name = capability.name if capability else CapabilityName.of(self.part.spelling, None)
        return self.around.pack.match(name, self.around.scope)

    @once
    def permission(self) -> Permission | None:
        """The grant this call relies on: of several the one it offends least."""
        grants = self.match.grants if self.match.is_permitted else ()
        return grants[0] if len(grants) == 1 else min(grants, key=self._offences, default=None)

    def _offences(self, permission: Permission) -> int:
        limit, mode = mode_named(permission.approval_mode), self.mode.effective
        beyond = limit is not None and mode is not None and mode > limit
        broken = self._violations_of(permission.arg_constraints)
        return len(broken) + beyond + self.contradicts_binding(permission)

    def contradicts_binding(self, permission: Permission) -> bool:
        """Whether the step is bound to another decision than the permission."""
        wanted, granted = self.step.decision_binding, permission.decision_binding
        if wanted is None or granted is None or self.is_expanded:
            return False
        return decision_key(wanted) != decision_key(granted)

    @once
    def foresight(self) -> Foresight | None:
        """What the run's policy would say to this call; None where nobody knows the policy."""
        policy = self.around.policy
        if policy is None or self.capability is None:
            return None
        cited = [case for step_id in self._cited for case in self.around.cases[step_id]]
        keys = (
            key for case in cited if case.capability for key in case.capability.evidence_keys or ()
        )
        call = PlannedCall(
            capability_id=self.capability.capability_id,
            args=self.args,
            evidence_refs=self._cited,
            evidence_keys=tuple(sorted(set(keys))),
        )
        return policy(call)

    @property
    def _cited(self) -> tuple[str, ...]:
        known = self.around.cases
        return tuple(step_id for step_id in self.step.requires_evidence if step_id in known)

    @once
    def mode(self) -> EffectiveMode:
        """As the run's policy says, else as the pack's table of modes says."""
        foresight = self.foresight
        if foresight is None:
            return effective_mode(self.around.pack, self.capability, self.args)
        return EffectiveMode(foresight.mode, is_gated=foresight.gate is not None)

    @once
    def citable_names(self) -> tuple[str, ...]:
        """The names under which the call's result can be cited."""
        keys = self.capability.evidence_keys if self.capability else None
        return (self.part.shown_id, *(keys or ()))

    @property
    def maximum(self) -> ApprovalMode | None:
        return None if self.capability is None else self.capability.mode

    # -- arguments and key -----------------------------------------------------------------------

    @once
    def _given_key(self) -> Any:
        own = self.step.idempotency_key
        if own is None and isinstance(self.part.args, dict):
            return self.part.args.get(KEY)
        return own

    @once
    def key(self) -> Any:
        """The idempotency key: the step's own, else the one among the arguments."""
        return None if self.gives_blank_key else self._given_key

    @property
    def gives_blank_key(self) -> bool:
        return isinstance(self._given_key, str) and not self._given_key.strip()

    @once
    def args(self) -> Mapping[str, Any]:
        """The arguments as the gateway would see them: with the key where the schema has it."""
        args = self.part.args if isinstance(self.part.args, dict) else {}
        known = self.capability.known_args if self.capability else None
        if self.key is None or KEY in args or known is None or KEY not in known:
            return args
        return {**args, KEY: self.key}

    @once
    def schema_problems(self) -> tuple[Problem, ...]:
        """What the input schema has against the arguments; raises `schema.invalid`."""
        validator = self.capability.validator if self.capability else None
        nothing_given = self.is_expanded and not self.args
        if validator is None or nothing_given or validator.is_valid(self.args):
            return ()
        return validator.errors(self.args)

    @once
    def has_final_args(self) -> bool:
        """Whether the arguments are sound and complete, so that policy's word on them counts."""
        validator = self.capability.validator if self.capability else None
        sound = isinstance(self.part.args, dict) and not self.violations
        return sound and (validator is None or validator.is_valid(self.args))

    @once
    def constraint_sources(self) -> tuple[Mapping[str, Any], ...]:
        """The constraints of manifest and policy, and those of the permission relied on."""
        declared = self.capability.arg_constraints if self.capability else {}
        granted = self.permission.arg_constraints if self.permission else {}
        added = self.foresight.arg_constraints if self.foresight else {}
        return declared, granted, added

    @once
    def violations(self) -> tuple[Violation, ...]:
        """What breaks these constraints."""
        return tuple(
            violation
            for constraints in self.constraint_sources
            for violation in self._violations_of(constraints)
        )

    def _violations_of(self, constraints: Mapping[str, Any]) -> tuple[Violation, ...]:
        """The key counts as an argument wherever it was given."""
        args = self.args if self.key is None else {**self.args, KEY: self.key}
        return check_args(args, constraints)
