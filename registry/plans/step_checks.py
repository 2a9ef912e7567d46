"""The checks that look at a whole step, or at a step among the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from contextos.core.modes import highest
from registry.plans.case import Case, Surroundings
from registry.plans.documents import Step
from registry.policy.types import mode_named
from registry.preconditions import holds
from registry.schema_explain import show
from registry.skills import Skill

Found = Iterator[tuple[str, str]]
CasesByStep = Mapping[str, tuple[Case, ...]]


@dataclass(frozen=True)
class StepCase:
    """One step of the plan with the calls it comes to, and the calls of all steps."""

    around: Surroundings
    step: Step
    cases: tuple[Case, ...]
    all_cases: CasesByStep
    first_uses: Mapping[tuple[str, str] | None, str]

    @property
    def skill(self) -> Skill | None:
        named = self.step.skill_id or self.step.from_skill
        return self.around.pack.skills.get(named or "")

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What a skill's preconditions are read against."""
        run, around = self.around.run, self.around
        return {
            "run": {**run.raw, "intent": around.intent, "context": run.context},
            "request": {
                "args": self.step.args if isinstance(self.step.args, dict) else {},
                "context": run.context,
            },
            "user": _object(run.raw.get("user")),
            "agent": _object(run.raw.get("agent")),
            "evidence": {"refs": _texts(run.raw.get("evidence_refs")), "keys": self._gathered()},
        }

    def _gathered(self) -> list[str]:
        """The names under which the results of earlier steps can be cited, if anybody asks."""
        names: list[str] = []
        if self.skill is None or not any("evidence" in text for text in self.skill.preconditions):
            return names
        for step in self.around.order.before(self.step):
            names.append(step.step_id)
            for case in self.all_cases[step.step_id]:
                names.extend(case.citable_names)
        return names


def _object(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def check_order(subject: StepCase) -> Found:
    """Every dependency is a step, and none leads back to itself."""
    order, step = subject.around.order, subject.step
    if step.step_id in order.on_cycle:
        yield "plan.dependency_cycle", "The step depends on itself, directly or through others."
    for unknown in order.unknown_dependencies(step):
        yield "plan.dependency_cycle", f"The step depends on {show(unknown)}, which is no step."


def check_skill(subject: StepCase) -> Found:
    """The skill is in the pack, and its preconditions hold."""
    step, skill = subject.step, subject.skill
    if step.skill_id is not None and skill is None:
        name = show(step.skill_id)
        yield "permission.missing", f"The pack holds no permission for the skill {name}."
        yield "capability.unknown", f"The pack holds no skill {name}."
        yield "skill.capability_not_permitted", f"The skill {name} is not part of the pack."
    if skill is None:
        return
    if step.skill_id is not None and not skill.required:
        sentence = f"The skill {show(skill.skill_id)} names no capability, so it can do nothing."
        yield "skill.capability_not_permitted", sentence
    for text in skill.preconditions:
        if not holds(text, subject.facts):
            yield "skill.precondition_failed", f"The precondition {show(text)} does not hold."


def check_requested_mode(subject: StepCase) -> Found:
    """A requested mode is one of the five and not above what is declared."""
    requested = subject.step.mode_requested
    if requested is None:
        return
    mode = mode_named(requested)
    if mode is None:
        yield "mode.unknown", f"The requested mode {show(requested)} is not one of the five."
        return
    declared = [case.maximum for case in subject.cases if case.maximum is not None]
    if declared and mode > highest(declared):
        sentence = f"{mode} was requested, and {highest(declared)} is the most that is declared."
        yield "mode.above_maximum", sentence


def check_evidence(subject: StepCase) -> Found:
    """Evidence that is asked for comes from an earlier step that yields some."""
    order = subject.around.order
    for wanted in subject.step.requires_evidence:
        sources = subject.all_cases.get(wanted)
        if sources is None:
            yield (
                "evidence.not_available",
                f"Evidence is asked of {show(wanted)}, which is no step.",
            )
        elif not order.comes_before(wanted, subject.step.step_id):
            sentence = f"Evidence is asked of {show(wanted)}, which does not come before this step."
            yield "evidence.not_available", sentence
        elif not _yields_evidence(sources):
            yield "evidence.not_available", f"The step {show(wanted)} yields no evidence."


def _yields_evidence(cases: Sequence[Case]) -> bool:
    """A capability that does not say what it can be cited by is given the benefit of the doubt."""
    known = [case.capability.evidence_keys for case in cases if case.capability is not None]
    return not known or any(keys is None or keys for keys in known)


def check_reuse(subject: StepCase) -> Found:
    """One key stands for one effect: two steps that call the same capability need two keys."""
    for case in subject.cases:
        first = subject.first_uses.get(key_use(case), subject.step.step_id)
        if first != subject.step.step_id:
            sentence = f"The step {show(first)} uses the same idempotency_key for this capability."
            yield "idempotency.reused", sentence


def key_use(case: Case) -> tuple[str, str] | None:
    """What a key stands for; the gateway keeps keys per capability."""
    return (case.part.shown_id, case.key) if isinstance(case.key, str) else None


def first_uses(all_cases: CasesByStep) -> dict[tuple[str, str] | None, str]:
    """The step in which each key is used first."""
    found: dict[tuple[str, str] | None, str] = {}
    for step_id, cases in all_cases.items():
        for case in cases:
            use = key_use(case)
            if use is not None:
                found.setdefault(use, step_id)
    return found


STEP_CHECKS: tuple[Callable[[StepCase], Found], ...] = (
    check_order,
    check_skill,
    check_requested_mode,
    check_evidence,
    check_reuse,
)
