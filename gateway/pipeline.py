"""The ordered steps of a decision and nothing else; each fills in its part of the context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from approvals.selectors import gate_in_force
from contextos.core.canonical import MAX_SAFE_INTEGER
from contextos.core.changing import changed
from contextos.core.clock import format_time
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import new_id
from contextos.core.json_pointer import join
from contextos.core.modes import ApprovalMode, exceeds, parse_mode
from gateway import tracing
from gateway.connectors import connector_for
from gateway.context import CallContext
from gateway.evidence import evidence_inputs, missing_for_decision
from gateway.idempotency import MEMBER, settle_key
from gateway.recording import decision_key_of
from gateway.run_lookup import run_of_caller
from gateway.runs import terms_of
from gateway.shadowing import ShadowDifference, shadow_differences
from registry.compiled import compiled_for
from registry.packs import Permission
from registry.policy import PolicyInputs, evaluate, time_facts, unmet_obligations
from registry.policy.constraints import Violation, check_args, unsafe_integer

Step = Callable[[CallContext], CallContext]


class RefusedCall(Exception):  # noqa: N818  named for what happened
    """A step said no; carries how far the call had come, for the record and the answer."""

    def __init__(self, error: ContextOSError, context: CallContext) -> None:
        super().__init__(error.code)
        self.error, self.context = error, context


def load_run(context: CallContext) -> CallContext:
    """1a. The caller's own run, and the registry's generation in the same statement."""
    run = context.run or run_of_caller(context.caller, context.request.run_id)
    if run is None:
        raise coded_error("run.unknown")
    compiled = compiled_for(terms_of(run), getattr(run, "generation", None) or 0)
    return changed(context, run=run, compiled=compiled, trace_id=run.trace_id)


def resolve(context: CallContext) -> CallContext:
    """1b. The capability from the run's compiled manifest; the token may narrow further."""
    if context.compiled is None:
        raise LookupError("the run is not loaded yet")
    permitted = context.compiled.resolve(context.request.capability_id)
    if not context.caller.may_use(permitted.capability.capability_id):
        raise coded_error("auth.scope", message="A token sent is narrowed to other calls.")
    return changed(context, permitted=permitted)


def validate(context: CallContext) -> CallContext:
    """2. The key, then the schema, then the constraints of manifest and permission."""
    schema = context.capability.input_schema
    named = schema.get("properties", {}) if isinstance(schema, dict) else {}
    settled = settle_key(
        context.request.idempotency_key, context.request.args, schema_has_member=MEMBER in named
    )
    if settled.key is None and context.capability.requires_idempotency_key:
        raise coded_error("idempotency.missing")
    settled_context = changed(context, args=settled.args, key=settled.key)
    _check_schema(settled_context)
    _check_constraints(settled_context, context.declaration.get("arg_constraints") or {})
    return changed(settled_context, grant=_fitting_grant(settled_context))


def decide(context: CallContext) -> CallContext:
    """3. Policy at execute time, a pure function of its inputs."""
    stamp = Stamp(new_id("pol"), format_time(context.now), HASHED_IN_THE_RECORD)
    return judged(context, policy_inputs(context), stamp)


# Records hash the inputs over the commitment to the arguments, so nobody reads a hash before.
HASHED_IN_THE_RECORD = ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a policy decision carries besides its verdict."""

    policy_decision_id: str | None
    evaluated_at: str | None
    inputs_hash: str | None = None  # where it is known already


def judged(context: CallContext, inputs: PolicyInputs, stamp: Stamp) -> CallContext:
    """The verdict of the run's bundles on these inputs; replay asks for it with recorded ones."""
    if context.compiled is None:
        raise LookupError("the run is not loaded yet")
    verdict = evaluate(inputs, context.compiled.bundles, inputs_hash=stamp.inputs_hash)
    decision = verdict.stamped(
        policy_decision_id=stamp.policy_decision_id, evaluated_at=stamp.evaluated_at
    )
    shadow: tuple[ShadowDifference, ...] = ()
    if context.compiled.shadow_bundles:
        shadow = shadow_differences(context.compiled, inputs, decision)
    decided = changed(context, inputs=inputs, decision=decision, shadow=shadow)
    if not decision.allowed:
        code, _, sentence = decision.reason.partition(": ")
        raise RefusedCall(coded_error(code, message=sentence), decided)
    unmet = (
        *unmet_obligations(decision, inputs, has_idempotency_key=context.key is not None),
        *_missing_evidence(context, inputs),
    )
    if unmet:
        sentence = f"Policy asks for more: {'; '.join(unmet)}."
        raise RefusedCall(coded_error("policy.obligation_unmet", message=sentence), decided)
    return decided


def _missing_evidence(context: CallContext, inputs: PolicyInputs) -> list[str]:
    """What the decision's spec in the pack asks for beyond policy."""
    packs = context.compiled.packs if context.compiled else ()
    missing = missing_for_decision(packs, decision_key_of(context), inputs.evidence)
    return [f"requires evidence:{item}" for item in missing]


def route(context: CallContext) -> CallContext:
    """4. The mode within run and permission, the constraints policy adds, and the gate."""
    if context.decision is None or context.run is None:
        raise LookupError("policy has not spoken yet")
    check_terms(context)
    _check_tokens(context)
    connector_for(str(context.capability.manifest.get("protocol")))
    named = context.decision.requires_approval_gate
    if named is None:
        return context
    gate = gate_in_force(tenant_id=context.run.tenant_id, gate_id=named)
    if gate is None:
        raise coded_error("approval.gate_unavailable", data={"gate": named})
    return changed(context, gate=gate)


def check_terms(context: CallContext) -> None:
    """The constraints that policy adds, and the highest mode of the permission."""
    if context.decision is None:
        raise LookupError("policy has not spoken yet")
    _check_constraints(context, context.decision.arg_constraints)
    if context.grant is None or exceeds(context.effective_mode, _mode_of(context.grant, context)):
        raise coded_error("mode.above_permission")


STEPS: tuple[Step, ...] = (load_run, resolve, validate, decide, route)


def run_steps(context: CallContext) -> CallContext:
    """Pass every step in order; the first refusal ends it with what was known by then."""
    for step in STEPS:
        try:
            with tracing.step(step.__name__, context):
                context = step(context)
        except ContextOSError as error:
            raise RefusedCall(error, context) from error
    return context


def _check_tokens(context: CallContext) -> None:
    """A run can outlive the tokens it was opened with; those of this call count too."""
    mode, limit = context.effective_mode, context.caller.max_mode
    if exceeds(mode, limit):
        sentence = f"The call would run as {mode}; the tokens sent reach {limit} at most."
        raise coded_error("auth.scope", message=sentence)


def policy_inputs(context: CallContext) -> PolicyInputs:
    """Everything policy may read of this call."""
    run, caller = context.run, context.caller
    if run is None:
        raise LookupError("the run is not loaded yet")
    capability = context.capability
    return PolicyInputs(
        capability=capability.readable,
        run={
            "tenant_id": run.tenant_id,
            "intent": run.intent,
            "environment": run.environment,
            "safety_mode": run.safety_mode,
            "flags": [],
        },
        user=caller.user_facts() or {},
        agent=caller.agent_facts(),
        args=context.args,
        context=run.document["context"],
        evidence=evidence_inputs(run.tenant_id, context.request.evidence_refs, context.now),
        time=time_facts(context.now),
        mode_requested=context.request.mode_requested.value
        if context.request.mode_requested
        else None,
        permitted=True,
    )


def _check_schema(context: CallContext) -> None:
    place = unsafe_integer(context.args)
    if place is not None:
        raise coded_error(
            "json.integer_too_large",
            message=f"{place or 'The arguments'}: A number is beyond {MAX_SAFE_INTEGER}.",
            data={"pointer": place},
        )
    problems = context.capability.input_validator.errors(context.args, mask=True)
    if problems:
        listed = [{"pointer": p.pointer, "message": p.message} for p in problems[:10]]
        first = problems[0]
        raise coded_error(
            "args.schema",
            message=f"{first.pointer or 'The arguments'}: {first.message}",
            data={"problems": listed},
        )


def _listed(violation: Violation) -> dict[str, str]:
    return {"pointer": join(violation.path.split(".")), "message": violation.message}


def _check_constraints(context: CallContext, constraints: object) -> None:
    violations = check_args(_constrained(context), constraints, mask=True)  # type: ignore[arg-type]
    if violations:
        raise coded_error(
            "args.constraint",
            message=violations[0].message,
            data={"problems": [_listed(violation) for violation in violations[:10]]},
        )


def _constrained(context: CallContext) -> dict[str, Any]:
    """The arguments, and the key as one of them also where the schema has no place for it."""
    key = {} if context.key is None else {MEMBER: context.key}
    return {**key, **context.args}


def _fitting_grant(context: CallContext) -> Permission:
    """The permission the call relies on: of those whose constraints it meets, the widest mode."""
    grants = context.permitted.grants if context.permitted else ()
    args = _constrained(context)
    fitting = [grant for grant in grants if not check_args(args, grant.arg_constraints, mask=True)]
    if not fitting:
        _check_constraints(context, grants[0].arg_constraints)
    return max(fitting, key=lambda grant: _mode_of(grant, context))


def _mode_of(grant: Permission, context: CallContext) -> ApprovalMode:
    """The highest mode a permission allows; one that says nothing allows the declared maximum."""
    if grant.approval_mode is None:
        return context.capability.approval_mode
    return parse_mode(str(grant.approval_mode))
