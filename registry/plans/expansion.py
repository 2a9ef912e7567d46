"""Expands a plan into the calls it comes to: skills inline, aliases and spellings resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from registry.plans.documents import Plan, Step
from registry.plans.pack import KEY, PlanCapability, PlanPack
from registry.skills import RequiredCapability, Skill

# Aliases are made from what was discovered earlier, never from a live look.
_LIVE = "live"


@dataclass(frozen=True, slots=True)
class Part:
    """One call that a step comes to; a step without a skill is its own only part."""

    step: Step
    part_id: str
    spelling: str
    capability: PlanCapability | None
    args: Any
    depends_on: tuple[str, ...]
    requires_evidence: tuple[str, ...]
    skill: Skill | None = None
    required: RequiredCapability | None = None
    is_alias: bool = False

    @property
    def shown_id(self) -> str:
        """The capability's exact id where it is known, else as it was written."""
        return self.spelling if self.capability is None else self.capability.capability_id

    def document(self) -> dict[str, Any]:
        """The step as it stands in `expanded_steps`."""
        step = self.step
        from_skill = self.skill.skill_id if self.skill else step.from_skill
        optional = {
            "approval_mode_requested": step.mode_requested,
            "idempotency_key": step.idempotency_key,
            "depends_on": list(self.depends_on) or None,
            "requires_evidence": list(self.requires_evidence) or None,
            "decision_binding": step.decision_binding,
            "from_skill": from_skill,
        }
        given = {name: value for name, value in optional.items() if value is not None}
        head = {"step_id": self.part_id, "capability_id": self.shown_id, "args": self.args}
        return {**head, **given}


def expand(plan: Plan, pack: PlanPack) -> tuple[Part, ...]:
    """Every call of the plan, in its order; a step of an unknown skill comes to nothing."""
    taken = {step.step_id for step in plan.steps}
    drafts = [part for step in plan.steps for part in _parts(step, pack, taken)]
    pieces: dict[str, list[str]] = {}
    for part in drafts:
        pieces.setdefault(part.step.step_id, []).append(part.part_id)
    return tuple(_linked(part, pieces) for part in drafts)


def _parts(step: Step, pack: PlanPack, taken: set[str]) -> Iterator[Part]:
    if step.skill_id is None:
        yield _single(step, pack)
        return
    skill = pack.skills.get(step.skill_id)
    for number, required in enumerate(skill.required if skill else (), start=1):
        capability, _ = _find(required.name, pack)
        yield Part(
            step=step,
            part_id=_free(f"{step.step_id}.{number}", taken),
            spelling=required.name,
            capability=capability,
            args=_share(step.args, required.name, capability),
            depends_on=step.depends_on,
            requires_evidence=step.requires_evidence,
            skill=skill,
            required=required,
        )


def _single(step: Step, pack: PlanPack) -> Part:
    capability, is_alias = _find(step.capability_id, pack)
    return Part(
        step=step,
        part_id=step.step_id,
        spelling=step.capability_id,
        capability=capability,
        args=step.args,
        depends_on=step.depends_on,
        requires_evidence=step.requires_evidence,
        is_alias=is_alias,
    )


def _find(spelling: str, pack: PlanPack) -> tuple[PlanCapability | None, bool]:
    capability = pack.capability(spelling)
    alias = pack.aliases.get(spelling)
    if capability is not None or alias is None or alias_is_live(alias):
        return capability, False
    target = alias.get("capability_id")
    return (pack.capability(target) if isinstance(target, str) else None), True


def alias_is_live(alias: Mapping[str, Any]) -> bool:
    """Whether an alias comes from a live look at the server, which makes it no alias at all."""
    source = alias.get("source")
    return isinstance(source, str) and source.startswith(_LIVE)


def _free(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted


def _share(args: Any, name: str, capability: PlanCapability | None) -> Any:
    """A skill's arguments as far as they are meant for one of its capabilities.

    Written per capability (`{"orders.lookup": {...}}`), or together, and then each takes what its
    schema names.
    """
    if not isinstance(args, dict):
        return args
    own = args.get(name)
    if own is None and capability is not None:
        own = args.get(capability.capability_id)
    if isinstance(own, dict):
        return own
    known = None if capability is None else capability.known_args
    if known is None:
        return args
    return {arg: value for arg, value in args.items() if arg in known or arg == KEY}


def _linked(part: Part, pieces: Mapping[str, list[str]]) -> Part:
    """The part with its links led to parts; those of one skill run one after another."""
    if not part.depends_on and not part.requires_evidence and part.skill is None:
        return part
    own = pieces[part.step.step_id]
    at = own.index(part.part_id)
    after = (own[at - 1],) if at else _last_of(part.depends_on, pieces)
    return replace(
        part,
        depends_on=after,
        requires_evidence=tuple(
            piece for step_id in part.requires_evidence for piece in pieces.get(step_id, [step_id])
        ),
    )


def _last_of(step_ids: tuple[str, ...], pieces: Mapping[str, list[str]]) -> tuple[str, ...]:
    return tuple(pieces[step_id][-1] if step_id in pieces else step_id for step_id in step_ids)
