"""What a gate's document says, read once into small frozen types; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

DAY = 24 * 3600


class FactorRule(StrEnum):
    """When a voter has to prove their second factor at the click."""

    ALWAYS = "always"
    DESTRUCTIVE = "destructive"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Stage:
    """One group of people that has to agree, and how many of them."""

    name: str
    groups: tuple[str, ...]
    quorum: int

    def as_dict(self) -> dict[str, Any]:
        """As a request keeps it."""
        return {"name": self.name, "groups": list(self.groups), "quorum": self.quorum}


@dataclass(frozen=True, slots=True)
class Escalation:
    """Groups that may vote too when nobody has decided for so long."""

    after_seconds: int
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateTerms:
    """How a gate decides."""

    stages: tuple[Stage, ...]
    deny_threshold: int = 1
    expires_after_seconds: int = DAY
    second_factor: FactorRule = FactorRule.DESTRUCTIVE
    reminders_after_seconds: tuple[int, ...] = ()
    escalations: tuple[Escalation, ...] = ()

    @property
    def groups(self) -> frozenset[str]:
        """Everybody who may ever vote here."""
        of_stages = (name for stage in self.stages for name in stage.groups)
        later = (name for escalation in self.escalations for name in escalation.groups)
        return frozenset((*of_stages, *later))

    @property
    def quorum(self) -> int:
        """How many people have to agree, all in all."""
        return sum(stage.quorum for stage in self.stages)

    def with_quorum(self, wanted: int | None) -> GateTerms:
        """The terms of one request: policy may ask for more people, never for fewer."""
        missing = (wanted or 0) - self.quorum
        if missing <= 0:
            return self
        last = self.stages[-1]
        return replace(
            self, stages=(*self.stages[:-1], replace(last, quorum=last.quorum + missing))
        )

    def groups_at(self, stage: int, escalation: int) -> frozenset[str]:
        """Who may vote at a stage, with everybody whom escalation has brought in."""
        brought = (name for step in self.escalations[:escalation] for name in step.groups)
        return frozenset((*self.stages[stage].groups, *brought))

    def needs_factor(self, mode: str) -> bool:
        """Whether an approving vote on a call of this mode needs a code."""
        if self.second_factor is FactorRule.DESTRUCTIVE:
            return mode == "destructive"
        return self.second_factor is FactorRule.ALWAYS

    def as_dict(self) -> dict[str, Any]:
        """As a request keeps it."""
        return {
            "stages": [stage.as_dict() for stage in self.stages],
            "deny_threshold": self.deny_threshold,
            "expires_after_seconds": self.expires_after_seconds,
            "second_factor": self.second_factor.value,
            "reminders_after_seconds": list(self.reminders_after_seconds),
            "escalations": [
                {"after_seconds": step.after_seconds, "groups": list(step.groups)}
                for step in self.escalations
            ],
        }


def read_terms(document: Mapping[str, Any]) -> GateTerms:
    """From a document that passed `examine`, or from a request's own copy."""
    stages = [
        Stage(item["name"], tuple(item["groups"]), int(item.get("quorum", 1)))
        for item in document["stages"]
    ]
    escalations = [
        Escalation(int(item["after_seconds"]), tuple(item["groups"]))
        for item in document.get("escalations") or ()
    ]
    return GateTerms(
        stages=tuple(stages),
        deny_threshold=int(document.get("deny_threshold", 1)),
        expires_after_seconds=int(document.get("expires_after_seconds", DAY)),
        second_factor=FactorRule(document.get("second_factor", FactorRule.DESTRUCTIVE)),
        reminders_after_seconds=tuple(sorted(document.get("reminders_after_seconds") or ())),
        escalations=tuple(sorted(escalations, key=lambda step: step.after_seconds)),
    )


def tally(terms: GateTerms, votes: Sequence[tuple[str, int]]) -> tuple[int, int, int]:
    """(stage that votes now, approvals in it, rejections in all) from (verdict, stage) pairs."""
    rejections = sum(1 for verdict, _ in votes if verdict == "reject")
    for number, stage in enumerate(terms.stages):
        given = sum(1 for verdict, at in votes if verdict == "approve" and at == number)
        if given < stage.quorum:
            return number, given, rejections
    return len(terms.stages), 0, rejections
