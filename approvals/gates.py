"""What a gate's document says, read once into small frozen types; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from contextos.review.findings import Finding, Severity

DAY = 24 * 3600
LONGEST_WAIT = 7 * DAY
MOST_STAGES = 10
MOST_QUORUM = 20


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


# --- examination ---------------------------------------------------------------------------------
_MEMBERS = frozenset(
    {
        "gate_id",
        "version",
        "title",
        "description",
        "owner_role",
        "stages",
        "deny_threshold",
        "expires_after_seconds",
        "second_factor",
        "reminders_after_seconds",
        "escalations",
    }
)


def examine(document: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[Finding, ...]:
    """Everything wrong or worth a look; `sizes` says how many people each group has."""
    found = [*_unknown_members(document), *_stages(document, sizes), *_numbers(document)]
    if not any(item.severity is Severity.BLOCK for item in found):
        found += _doubts(read_terms(document), sizes)
    return tuple(found)


def _block(rule: str, pointer: str, message: str, remediation: str) -> Finding:
    return Finding(rule, Severity.BLOCK, pointer, message, remediation)


def _warn(rule: str, pointer: str, message: str, remediation: str) -> Finding:
    return Finding(rule, Severity.WARN, pointer, message, remediation)


def _unknown_members(document: Mapping[str, Any]) -> Iterator[Finding]:
    for name in sorted(set(document) - _MEMBERS):
        yield _block(
            "gate.member_unknown", f"/{name}", f"A gate has no member {name}.", "Take it out."
        )


def _stages(document: Mapping[str, Any], sizes: Mapping[str, int]) -> Iterator[Finding]:
    stages = document.get("stages")
    if not isinstance(stages, list) or not 1 <= len(stages) <= MOST_STAGES:
        yield _block(
            "gate.stages_missing",
            "/stages",
            f"A gate has 1 to {MOST_STAGES} stages.",
            "Name at least one stage with its groups and its quorum.",
        )
        return
    for number, stage in enumerate(stages):
        yield from _stage(f"/stages/{number}", stage, sizes)
    names = [stage.get("name") for stage in stages if isinstance(stage, dict)]
    if len(set(map(str, names))) != len(names):
        yield _block("gate.stage_twice", "/stages", "Two stages share a name.", "Rename one.")


def _stage(pointer: str, stage: Any, sizes: Mapping[str, int]) -> Iterator[Finding]:
    if not isinstance(stage, dict) or not isinstance(stage.get("name"), str) or not stage["name"]:
        yield _block("gate.stage_unnamed", pointer, "The stage has no name.", "Give it one.")
        return
    yield from _groups(pointer, stage.get("groups"), sizes)
    quorum = stage.get("quorum", 1)
    if not _is_count(quorum, MOST_QUORUM):
        yield _block(
            "gate.quorum_invalid",
            f"{pointer}/quorum",
            f"A quorum is a whole number from 1 to {MOST_QUORUM}.",
            "Say how many people of the groups have to agree.",
        )


def _groups(pointer: str, groups: Any, sizes: Mapping[str, int]) -> Iterator[Finding]:
    if not isinstance(groups, list) or not groups or not all(isinstance(g, str) for g in groups):
        yield _block(
            "gate.groups_missing",
            f"{pointer}/groups",
            "Nobody keeps this part of the gate.",
            "Name at least one approver group.",
        )
        return
    for name in groups:
        if name not in sizes:
            yield _block(
                "gate.group_unknown",
                f"{pointer}/groups",
                f"There is no approver group {name}.",
                "Make the group first, or use one that exists.",
            )


def _numbers(document: Mapping[str, Any]) -> Iterator[Finding]:
    if not _is_count(document.get("deny_threshold", 1), MOST_QUORUM):
        yield _block(
            "gate.deny_threshold_invalid",
            "/deny_threshold",
            f"The threshold is a whole number from 1 to {MOST_QUORUM}.",
            "Say how many rejections end a request; 1 is usual.",
        )
    if not _is_count(document.get("expires_after_seconds", DAY), LONGEST_WAIT):
        yield _block(
            "gate.expiry_invalid",
            "/expires_after_seconds",
            "A request waits at most seven days.",
            f"Use whole seconds, at most {LONGEST_WAIT}.",
        )
    if document.get("second_factor", "destructive") not in list(FactorRule):
        yield _block(
            "gate.factor_invalid",
            "/second_factor",
            "The rule for the second factor is not known.",
            "Use always, destructive or never.",
        )
    reminders = document.get("reminders_after_seconds") or []
    if not isinstance(reminders, list) or not all(_is_count(r, LONGEST_WAIT) for r in reminders):
        yield _block(
            "gate.reminders_invalid",
            "/reminders_after_seconds",
            "Reminders are whole seconds after the request.",
            "List seconds such as 3600, or leave it out.",
        )
    yield from _escalations(document.get("escalations") or [])


def _escalations(steps: Any) -> Iterator[Finding]:
    if not isinstance(steps, list):
        steps = [None]
    for number, step in enumerate(steps):
        sound = isinstance(step, dict) and _is_count(step.get("after_seconds"), LONGEST_WAIT)
        groups = step.get("groups") if isinstance(step, dict) else None
        if not sound or not isinstance(groups, list) or not groups:
            yield _block(
                "gate.escalation_invalid",
                f"/escalations/{number}",
                "An escalation needs after_seconds and groups.",
                "Say after how many seconds which groups may vote too.",
            )


def _doubts(terms: GateTerms, sizes: Mapping[str, int]) -> Iterator[Finding]:
    for number, stage in enumerate(terms.stages):
        people = sum(sizes.get(name, 0) for name in stage.groups)
        if people < stage.quorum:
            yield _warn(
                "gate.quorum_unreachable",
                f"/stages/{number}/quorum",
                f"{stage.name} needs {stage.quorum}, and its groups have {people}.",
                "Add people to the groups before requests arrive.",
            )
    if terms.second_factor is FactorRule.NEVER:
        yield _warn(
            "gate.no_second_factor",
            "/second_factor",
            "Votes need no second factor here, not even on destructive calls.",
            "Use destructive unless another control does the same.",
        )
    yield from _unknown_escalation_groups(terms, sizes)


def _unknown_escalation_groups(terms: GateTerms, sizes: Mapping[str, int]) -> Iterator[Finding]:
    for number, step in enumerate(terms.escalations):
        for name in step.groups:
            if name not in sizes:
                yield _warn(
                    "gate.escalation_group_unknown",
                    f"/escalations/{number}/groups",
                    f"There is no approver group {name}.",
                    "Make the group, or use one that exists.",
                )


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def tally(terms: GateTerms, votes: Sequence[tuple[str, int]]) -> tuple[int, int, int]:
    """(stage that votes now, approvals in it, rejections in all) from (verdict, stage) pairs."""
    rejections = sum(1 for verdict, _ in votes if verdict == "reject")
    for number, stage in enumerate(terms.stages):
        given = sum(1 for verdict, at in votes if verdict == "approve" and at == number)
        if given < stage.quorum:
            return number, given, rejections
    return len(terms.stages), 0, rejections
