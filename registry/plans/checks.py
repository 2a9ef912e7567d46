"""The checks of one planned call; each yields a code and one sentence per thing it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from contextos.core.errors import ContextOSError
from contextos.core.idempotency_keys import key_fault
from contextos.core.modes import CapabilityClass
from registry.manifest.normalise import decision_key
from registry.plans.case import Case
from registry.plans.pack import KEY
from registry.policy.constraints import ABSENT, look_up, unsafe_integer
from registry.policy.obligations import ARGUMENT
from registry.policy.types import mode_named
from registry.schema_explain import show
from registry.validation import Problem

Found = Iterator[tuple[str, str]]
_KEY_POINTER = f"/{KEY}"


def check_intent(case: Case) -> Found:
    """A read-only intent has no `act` step."""
    capability = case.capability
    if capability is None or case.around.plan.intent_mode != "read_only":
        return
    if capability.capability_class is CapabilityClass.ACT:
        yield (
            "intent.act_in_read_only",
            f"{show(case.part.shown_id)} acts, and the plan's intent is read-only.",
        )


def check_permission(case: Case) -> Found:
    """Exact match, deny beats allow; a skill adds nothing."""
    match, name = case.match, case.part.shown_id
    if match.denials:
        yield "permission.denied", f"The pack denies {show(name)} for this run."
    elif not match.grants:
        yield "permission.missing", f"The pack holds no permission for {show(name)} in this run."
    if match.is_permitted:
        return
    skill = case.part.skill.skill_id if case.part.skill else case.step.from_skill
    if skill is not None:
        sentence = f"The skill {show(skill)} uses {show(name)}, which the pack does not permit."
        yield "skill.capability_not_permitted", sentence


def check_declared(case: Case) -> Found:
    """The capability exists and can be used at present."""
    capability = case.capability
    if capability is not None and capability.state == "usable":
        return
    name = show(case.part.shown_id)
    if capability is None:
        yield "capability.unknown", f"The pack declares no capability {name}."
    elif capability.state == "quarantined":
        yield "capability.quarantined", f"{name} is quarantined until it has been reviewed again."
    else:
        yield "capability.disabled", f"{name} is disabled."


def check_skill_membership(case: Case) -> Found:
    """A part is of the class its skill says, and a step that names a skill belongs to it."""
    required, capability = case.part.required, case.capability
    if required and capability and required.capability_class is not None:
        actual = capability.capability_class
        if actual is None or actual.value != required.capability_class:
            claimed = show(required.capability_class)
            sentence = f"The skill uses {show(required.name)} as {claimed}, which it is not."
            yield "skill.capability_not_permitted", sentence
    skill = case.around.pack.skills.get(case.step.from_skill or "")
    if skill is None or capability is None:
        return
    members = [case.around.pack.capability(item.name) for item in skill.required]
    if capability not in members:
        sentence = f"{show(case.part.shown_id)} is no part of the skill {show(skill.skill_id)}."
        yield "skill.capability_not_permitted", sentence


def check_alias(case: Case) -> Found:
    """Only read_only capabilities go by a cached alias."""
    if case.part.is_alias and case.capability is not None and case.maximum != "read_only":
        sentence = (
            f"The alias {show(case.part.spelling)} leads to more than a read_only capability."
        )
        yield "alias.not_read_only", sentence


# -- arguments -----------------------------------------------------------------------------------


def check_schema(case: Case) -> Found:
    """Arguments fit the input schema; what is wrong with the key has codes of its own."""
    if not isinstance(case.part.args, dict):
        yield "args.schema", "The arguments are not an object."
        return
    unsafe = unsafe_integer(case.part.args)
    if unsafe is not None:
        yield "args.schema", f"The integer at {show(unsafe)} lies beyond 2^53."
        return
    try:
        problems = case.schema_problems
    except ContextOSError:
        yield "args.schema", f"The input schema of {show(case.part.shown_id)} can't be used."
        return
    for problem in problems:
        if not _told_elsewhere(case, problem):
            place = f"At {show(problem.pointer)}: " if problem.pointer else ""
            yield "args.schema", f"{place}{problem.message}"


def _told_elsewhere(case: Case, problem: Problem) -> bool:
    incomplete = case.is_expanded and problem.keyword == "required"
    return incomplete or problem.pointer == _KEY_POINTER


def check_constraints(case: Case) -> Found:
    """Arguments keep the manifest's and the permission's bounds."""
    if not isinstance(case.part.args, dict):
        return
    own, key = case.part.args.get(KEY), case.step.idempotency_key
    if own is not None and key is not None and own != key:
        yield "args.constraint", "The arguments hold another idempotency_key than the step."
    for violation in case.violations:
        incomplete = case.is_expanded and violation.keyword == "required"
        if violation.path != KEY and not incomplete:
            yield "args.constraint", violation.message


def check_key(case: Case) -> Found:
    """A write carries a key, and the key has the form that schema and permission ask for."""
    if case.key is None:
        if _needs_key(case):
            yield "idempotency.missing", f"{show(case.part.shown_id)} needs an idempotency_key."
        elif case.gives_blank_key:
            yield "idempotency.pattern", "The idempotency_key is blank."
        return
    if not isinstance(case.key, str):
        yield "idempotency.pattern", "The idempotency_key is not a string."
        return
    fault = next(_key_faults(case), None)
    if fault is not None:
        yield "idempotency.pattern", fault


def _needs_key(case: Case) -> bool:
    if case.capability is not None and case.capability.needs_key:
        return True
    return any(
        isinstance(constraint := source.get(KEY), dict) and constraint.get("required") is True
        for source in case.constraint_sources
    ) or (_schema_requires_key(case) or _policy_requires_key(case))


def _policy_requires_key(case: Case) -> bool:
    return case.foresight is not None and KEY in case.foresight.requires


def _schema_requires_key(case: Case) -> bool:
    schema = case.capability.input_schema if case.capability else None
    required = schema.get("required") if isinstance(schema, dict) else None
    return isinstance(required, list) and KEY in required


def _key_faults(case: Case) -> Iterator[str]:
    yield from (violation.message for violation in case.violations if violation.path == KEY)
    shape = key_fault(case.key)
    if shape:
        yield shape
    try:
        problems = case.schema_problems
    except ContextOSError:
        return  # that the schema is unusable is said among the arguments
    for problem in problems:
        if problem.pointer == _KEY_POINTER and problem.keyword != "required":
            yield f"The idempotency_key is refused by the input schema: {problem.message}"


# -- policy --------------------------------------------------------------------------------------


def check_policy(case: Case) -> Found:
    """What policy is certain to refuse; faulty arguments are told as what they are."""
    foresight, capability = case.foresight, case.capability
    if foresight is None or foresight.refusal is None or capability is None:
        return
    if not case.match.is_permitted or capability.state != "usable":
        return
    if not foresight.depends_on_args or _has_final_args(case):
        yield "permission.denied", foresight.refusal


def _has_final_args(case: Case) -> bool:
    try:
        return case.has_final_args
    except ContextOSError:
        return False  # that the schema is unusable is said among the arguments


def check_policy_args(case: Case) -> Found:
    """Arguments that policy insists on or rules out."""
    foresight = case.foresight
    if foresight is None or not isinstance(case.part.args, dict):
        return
    for path in _argument_paths(foresight.requires):
        if look_up(case.args, path) is ABSENT and not case.is_expanded:
            yield "args.constraint", f"Policy asks for the argument {show(path)}."
    for path in _argument_paths(foresight.prohibits):
        if look_up(case.args, path) is not ABSENT:
            yield "args.constraint", f"Policy rules out the argument {show(path)}."


def _argument_paths(items: Iterable[str]) -> list[str]:
    return [item.removeprefix(ARGUMENT) for item in items if item.startswith(ARGUMENT)]


# -- modes and decisions -------------------------------------------------------------------------


def check_modes(case: Case) -> Found:
    """No mode outside the taxonomy, none above what permission and run allow."""
    if case.capability is not None and case.maximum is None:
        yield "mode.unknown", f"{show(case.part.shown_id)} declares no known approval mode."
    if case.mode.names_unknown:
        yield "mode.unknown", "The pack's mode policy names a mode that is not one of the five."
    effective = case.mode.effective
    for code, limit, whose in (
        ("mode.above_permission", case.permission and case.permission.approval_mode, "permission"),
        ("mode.above_safety_mode", case.around.run.safety_mode, "run's safety mode"),
    ):
        if limit is None:
            continue
        mode = mode_named(limit)
        if mode is None:
            yield "mode.unknown", f"The {whose} names a mode that is not one of the five."
        elif effective is not None and effective > mode:
            sentence = f"The call would run as {effective}, and the {whose} allows {mode} at most."
            yield code, sentence


def check_decision(case: Case) -> Found:
    """A step bound to a decision uses a capability and a permission for that decision."""
    wanted = case.step.decision_binding
    if wanted is None or case.is_expanded:
        return
    declared = case.capability.decision_bindings if case.capability else frozenset()
    if declared and decision_key(wanted) not in declared:
        sentence = f"{show(case.part.shown_id)} does not serve the decision {show(wanted)}."
        yield "decision.mismatch", sentence
    elif case.permission is not None and case.contradicts_binding(case.permission):
        sentence = f"The permission is bound to another decision than {show(wanted)}."
        yield "decision.mismatch", sentence


CHECKS: tuple[Callable[[Case], Found], ...] = (
    check_intent,
    check_permission,
    check_declared,
    check_skill_membership,
    check_alias,
    check_schema,
    check_constraints,
    check_key,
    check_policy,
    check_policy_args,
    check_modes,
    check_decision,
)
