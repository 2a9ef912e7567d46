"""The critic's plan check: a plan and a pack in, a verdict out; pure and deterministic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from contextos.core.modes import highest
from registry.plans.case import Case, Surroundings
from registry.plans.checks import CHECKS
from registry.plans.documents import Step, read_plan, read_run
from registry.plans.expansion import expand
from registry.plans.ordering import StepOrder
from registry.plans.pack import PlanPack, read_pack
from registry.plans.step_checks import STEP_CHECKS, CasesByStep, StepCase, first_uses
from registry.plans.types import RANK_BY_CODE, PlanFinding, PlanVerdict, PolicyAhead


def verify_plan(
    plan: object, pack: object, run: object = None, *, policy: PolicyAhead | None = None
) -> PlanVerdict:
    """Judge a plan; raises `plan.invalid` for documents that can't be judged at all."""
    read = read_plan(plan)
    cases: dict[str, list[Case]] = {step.step_id: [] for step in read.steps}
    around = Surroundings(
        plan=read,
        pack=pack if isinstance(pack, PlanPack) else read_pack(pack),
        run=read_run(run),
        order=StepOrder(read.steps),
        policy=policy,
        cases=cases,
    )
    for part in expand(read, around.pack):
        cases[part.step.step_id].append(Case(around, part))
    by_step = {step_id: tuple(listed) for step_id, listed in cases.items()}
    return PlanVerdict(
        findings=tuple(_findings(around, by_step)),
        approval_required_steps=tuple(_needing_approval(by_step)),
        effective_modes=_effective_modes(by_step),
        expanded_steps=tuple(
            case.part.document() for listed in by_step.values() for case in listed
        ),
    )


def _findings(around: Surroundings, by_step: CasesByStep) -> Iterator[PlanFinding]:
    uses = first_uses(by_step)
    for step in around.plan.steps:
        subject = StepCase(around, step, by_step[step.step_id], by_step, uses)
        found = [pair for check in STEP_CHECKS for pair in check(subject)]
        found.extend(pair for case in subject.cases for check in CHECKS for pair in check(case))
        yield from _in_order(step, found)


def _in_order(step: Step, found: Iterable[tuple[str, str]]) -> Iterator[PlanFinding]:
    """By code, then as they were found; the same sentence is said once."""
    for code, message in sorted(dict.fromkeys(found), key=lambda pair: RANK_BY_CODE[pair[0]]):
        yield PlanFinding(step.step_id, code, message)


def _needing_approval(by_step: CasesByStep) -> Iterator[str]:
    """A skill step is listed along with those of its parts that need an approval."""
    for step_id, cases in by_step.items():
        risky = [
            case.part.part_id for case in cases if case.capability and case.mode.needs_approval
        ]
        if risky and risky != [step_id]:
            yield step_id
        yield from risky


def _effective_modes(by_step: CasesByStep) -> dict[str, str]:
    modes: dict[str, str] = {}
    for step_id, cases in by_step.items():
        known = {
            case.part.part_id: case.mode.effective
            for case in cases
            if case.mode.effective is not None
        }
        if known:
            modes[step_id] = highest(known.values()).value
        modes.update((part_id, mode.value) for part_id, mode in known.items())
    return modes
