"""Reads a plan and its run; what can't be judged at all is refused as `plan.invalid`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from registry.plans.reading import invalid, list_at, object_at, text_at, texts_at

MAX_STEPS = 1000
INTENT_MODES = ("read_only", "execute")


@dataclass(frozen=True, slots=True)
class Step:
    """One step as the planner wrote it; members that only a check can judge are kept raw."""

    index: int
    step_id: str
    capability_id: str
    skill_id: str | None
    args: Any
    mode_requested: Any
    idempotency_key: Any
    depends_on: tuple[str, ...]
    requires_evidence: tuple[str, ...]
    decision_binding: str | None
    from_skill: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that can be judged."""

    plan_id: str
    intent: str | None
    intent_mode: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class PlanRun:
    """The run a plan is meant for; everything about it is optional."""

    role: str | None = None
    environment: str | None = None
    intent: str | None = None
    safety_mode: Any = None
    context: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)


def read_plan(document: Any) -> Plan:
    """The plan in a document; unknown members are ignored."""
    plan = object_at(document, "/plan")
    mode = plan.get("intent_mode", "execute")
    if mode not in INTENT_MODES:
        raise invalid("/plan/intent_mode", "It is `read_only` or `execute`.")
    steps = list_at(plan, "steps", "/plan", required=True)
    if len(steps) > MAX_STEPS:
        raise invalid("/plan/steps", f"A plan has at most {MAX_STEPS} steps.")
    read = tuple(_step(index, raw) for index, raw in enumerate(steps))
    _refuse_repeated(read)
    return Plan(
        plan_id=text_at(plan, "plan_id", "/plan") or "",
        intent=text_at(plan, "intent", "/plan"),
        intent_mode=mode,
        steps=read,
    )


def read_run(document: Any) -> PlanRun:
    """The run in a document; absent is a run about which nothing is known."""
    if document is None:
        return PlanRun()
    run = object_at(document, "/run")
    context = run.get("context")
    return PlanRun(
        role=text_at(run, "role", "/run"),
        environment=text_at(run, "environment", "/run"),
        intent=text_at(run, "intent", "/run"),
        safety_mode=run.get("safety_mode"),
        context={} if context is None else object_at(context, "/run/context"),
        raw=run,
    )


def _step(index: int, raw: Any) -> Step:
    place = f"/plan/steps/{index}"
    step = object_at(raw, place)
    step_id = text_at(step, "step_id", place)
    if not step_id:
        raise invalid(f"{place}/step_id", "Every step has a step_id.")
    skill_id = text_at(step, "skill_id", place)
    capability_id = step.get("capability_id")
    if skill_id is not None and capability_id is not None:
        raise invalid(place, "A step names a capability or a skill, not both.")
    return Step(
        index=index,
        step_id=step_id,
        capability_id=capability_id if isinstance(capability_id, str) else "",
        skill_id=skill_id,
        args={} if step.get("args") is None else step["args"],
        mode_requested=step.get("approval_mode_requested"),
        idempotency_key=step.get("idempotency_key"),
        depends_on=texts_at(step, "depends_on", place),
        requires_evidence=texts_at(step, "requires_evidence", place),
        decision_binding=text_at(step, "decision_binding", place),
        from_skill=text_at(step, "from_skill", place),
    )


def _refuse_repeated(steps: tuple[Step, ...]) -> None:
    seen: set[str] = set()
    for step in steps:
        if step.step_id in seen:
            raise invalid(f"/plan/steps/{step.index}/step_id", "Another step has this step_id.")
        seen.add(step.step_id)
