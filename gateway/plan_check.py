"""The critic before a call: a plan against the pack, the policy and the terms of its run (C19)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from contextos.core.clock import utcnow
from contextos.core.modes import ApprovalMode, lowest
from gateway.context import CallContext, CallRequest
from gateway.identity import Caller
from gateway.models import Run
from gateway.pipeline import policy_inputs
from gateway.runs import compiled_run
from registry.compiled import CompiledRun
from registry.grants import NamedCapability
from registry.plans import PlannedCall, PlanVerdict, verify_plan
from registry.policy import Foresight, PolicyInputs, foresee


def check_plan(*, caller: Caller, run: Run, plan: Mapping[str, Any]) -> PlanVerdict:
    """Judge a plan as of now; nothing is called, nothing is kept."""
    compiled = compiled_run(run)
    reach = lowest([ApprovalMode(run.safety_mode), caller.max_mode])
    facts = {**run.document, "role": run.document["agent"]["role"], "safety_mode": reach.value}
    policy = RunPolicy(caller, run, compiled, utcnow())
    return verify_plan(plan, compiled.plan_pack, facts, policy=policy)


@dataclass(frozen=True, slots=True)
class RunPolicy:
    """Asks the policy of a run what it would make of a planned call."""

    caller: Caller
    run: Run
    compiled: CompiledRun
    now: datetime
    _bare: dict[str, PolicyInputs] = field(default_factory=dict)  # by capability

    def __call__(self, call: PlannedCall) -> Foresight:
        """The mode, and what stands in the way before or whatever the arguments are."""
        named = self.compiled.named[call.capability_id]
        refusal = self._refusal(named)
        if refusal is not None:
            mode = named.capability.approval_mode
            return Foresight(mode, refusal=refusal, depends_on_args=False)
        evidence = {"refs": list(call.evidence_refs), "keys": list(call.evidence_keys)}
        inputs = replace(self._inputs(named), args=call.args, evidence=evidence)
        return foresee(inputs, self.compiled.bundles)

    def _refusal(self, named: NamedCapability) -> str | None:
        blocked = self.compiled.blocked
        if blocked is not None:
            return blocked.message
        if named.refusal is not None and named.refusal.code.startswith("policy."):
            return named.refusal.message
        if not self.caller.may_use(named.capability.capability_id):
            return "A token sent is narrowed to other calls."
        return None

    def _inputs(self, named: NamedCapability) -> PolicyInputs:
        """What a call itself would bring, but for its arguments and evidence."""
        name = named.capability.capability_id
        if name not in self._bare:
            request = CallRequest(run_id=self.run.run_id, capability_id=name, args={})
            context = CallContext(
                caller=self.caller,
                request=request,
                now=self.now,
                trace_id=self.run.trace_id,
                run=self.run,
                compiled=self.compiled,
                permitted=named.as_permitted(),
            )
            self._bare[name] = policy_inputs(context)
        return self._bare[name]
