"""Which step comes before which: what it depends on first, else as the plan lists them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from registry.plans.documents import Step


class StepOrder:
    """The order of a plan's steps, and the cycles that leave it without one."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = {step.step_id: step for step in steps}
        self._ancestors: dict[str, frozenset[str]] = {}

    def unknown_dependencies(self, step: Step) -> list[str]:
        """What a step depends on that is no step."""
        return [step_id for step_id in step.depends_on if step_id not in self._steps]

    @cached_property
    def on_cycle(self) -> frozenset[str]:
        """The steps that, followed back far enough, depend on themselves."""
        return frozenset(
            step_id for step_id in self._tangled() if step_id in self.ancestors(step_id)
        )

    def ancestors(self, step_id: str) -> frozenset[str]:
        """Every step that has to be done before this one."""
        known = self._ancestors.get(step_id)
        if known is None:
            known = self._ancestors[step_id] = self._follow(step_id, self._parents)
        return known

    def comes_before(self, earlier: str, later: str) -> bool:
        """Whether a step is over when another one starts."""
        if earlier not in self._steps or earlier == later:
            return False
        if earlier in self.ancestors(later):
            return True
        if later in self.ancestors(earlier):
            return False
        return self._steps[earlier].index < self._steps[later].index

    def before(self, step: Step) -> list[Step]:
        """The steps that are over when this one starts, in the plan's order."""
        above = self.ancestors(step.step_id)
        below = self._follow(step.step_id, self._children)
        return [
            other
            for other in self._steps.values()
            if other.step_id in above or (other.index < step.index and other.step_id not in below)
        ]

    @cached_property
    def _parents(self) -> dict[str, list[str]]:
        return {
            step_id: [parent for parent in step.depends_on if parent in self._steps]
            for step_id, step in self._steps.items()
        }

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {step_id: [] for step_id in self._steps}
        for step_id, parents in self._parents.items():
            for parent in parents:
                children[parent].append(step_id)
        return children

    @staticmethod
    def _follow(start: str, links: dict[str, list[str]]) -> frozenset[str]:
        found: set[str] = set()
        pending = [start]
        while pending:
            for linked in links[pending.pop()]:
                if linked not in found:
                    found.add(linked)
                    pending.append(linked)
        return frozenset(found)

    def _tangled(self) -> list[str]:
        """The steps left when those that can be done are done, again and again."""
        waiting = {step_id: set(parents) for step_id, parents in self._parents.items()}
        ready = [step_id for step_id, parents in waiting.items() if not parents]
        while ready:
            done = ready.pop()
            del waiting[done]
            for child in self._children[done]:
                waiting[child].discard(done)
                if not waiting[child]:
                    ready.append(child)
        return list(waiting)
