"""Policy asked once more about a call that had to wait: today's bundles on the recorded facts."""

from __future__ import annotations

from datetime import timedelta

from audit.payloads import find_payload
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from gateway.attempts import Attempt
from registry.compiled import CompiledRun, PermittedCapability
from registry.policy import PolicyDecision, evaluate, read_inputs, time_facts

# A call that is worked on at once was decided a moment ago; what waited longer is asked about anew.
FRESH_FOR = timedelta(seconds=2)
NOBODY_ASKED = "Policy asks for people's approval by now, and nobody was asked about this call."


def require_policy_still_allows(
    attempt: Attempt, compiled: CompiledRun, permitted: PermittedCapability
) -> None:
    """Refuse what policy has come to deny, or to ask people about, while the call waited for a
    worker (C1, C4)."""
    if utcnow() - attempt.call.created_at < FRESH_FOR:
        return
    decision = decided_now(attempt, compiled, permitted)
    if not decision.allowed:
        code, _, sentence = decision.reason.partition(": ")
        raise coded_error(code, message=sentence)
    asked = any(approval.get("approval_id") for approval in attempt.facts.approvals)
    if decision.requires_approval_gate and not asked:
        raise coded_error("approval.voided", message=NOBODY_ASKED)


def decided_now(
    attempt: Attempt, compiled: CompiledRun, permitted: PermittedCapability
) -> PolicyDecision:
    """Today's bundles on the recorded facts, with the clock of today."""
    call = attempt.call
    kept = find_payload(tenant_id=call.tenant_id, decision_id=call.decision_id, kind="inputs")
    inputs = read_inputs(
        {
            **(kept or {}),
            "request": {**(kept or {}).get("request", {}), "args": dict(attempt.args)},
            "capability": permitted.capability.readable,
            "time": time_facts(utcnow()),
        }
    )
    return evaluate(inputs, compiled.bundles)
