"""What a replay found: equal, different in named ways, or not to be had any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from contextos.core.errors import ContextOSError


class ReplayStatus(StrEnum):
    """How a replay came out."""

    EQUAL = "replay_equal"
    MISMATCH = "replay_mismatch"
    INVALID = "invalid"


class DiffType(StrEnum):
    """Which part of a decision a difference lies in."""

    EVIDENCE = "evidence"
    POLICY = "policy"
    TRANSCRIPT = "transcript"
    MANIFEST = "manifest"
    SCORE = "score"
    TAMPER = "tamper"
    ERASED = "erased"


class ReplayStep(StrEnum):
    """The steps of a call that are taken again, in order."""

    RECORD = "record"
    VALUES = "values"
    DOCUMENTS = "documents"
    RESOLVE = "resolve"
    VALIDATE = "validate"
    POLICY = "policy"
    GATE = "gate"
    RESULT = "result"
    EVIDENCE = "evidence"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Diff:
    """One difference: where, what the record says, what the replay came to, and in words."""

    type: DiffType
    path: str
    expected: Any
    found: Any
    message: str

    def as_dict(self) -> dict[str, Any]:
        """The difference as JSON."""
        return {
            "type": self.type.value,
            "path": self.path,
            "expected": self.expected,
            "found": self.found,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The answer of one replay."""

    status: ReplayStatus
    diffs: tuple[Diff, ...]
    checked: tuple[ReplayStep, ...]  # the steps that were taken again
    taken: tuple[str, ...]  # what can't be worked out again and was read from the record

    def as_dict(self) -> dict[str, Any]:
        """The `latest_result` of a replay packet."""
        return {
            "status": self.status.value,
            "diffs": [diff.as_dict() for diff in self.diffs],
            "checked": [step.value for step in self.checked],
            "taken_from_record": list(self.taken),
        }


# What reading a row, an envelope or a value of a strange form ends in.
UNREADABLE = (ContextOSError, LookupError, TypeError, ValueError, AttributeError)


class NotReplayable(Exception):  # noqa: N818  named for what happened
    """Something that the decision rests on is gone or was tampered with: there is no result."""


@dataclass(slots=True)
class Findings:
    """Collects what a replay finds on its way."""

    diffs: list[Diff] = field(default_factory=list)
    checked: list[ReplayStep] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    invalid: bool = False

    def differ(self, kind: DiffType, path: str, expected: Any, found: Any, message: str) -> None:
        """Note one difference."""
        self.diffs.append(Diff(kind, path, expected, found, message))

    def spoil(self, kind: DiffType, path: str, expected: Any, found: Any, message: str) -> None:
        """Note a difference after which no result can be relied on."""
        self.differ(kind, path, expected, found, message)
        self.invalid = True

    def take(self, sentence: str) -> None:
        """Note what was read from the record instead of being worked out."""
        if sentence not in self.taken:
            self.taken.append(sentence)

    def passed(self, step: ReplayStep) -> None:
        """Note that a step was taken again."""
        if step not in self.checked:
            self.checked.append(step)

    def stop_if_invalid(self) -> None:
        """End here where nothing further can be relied on."""
        if self.invalid:
            raise NotReplayable

    def result(self) -> ReplayResult:
        """The answer."""
        if self.invalid:
            status = ReplayStatus.INVALID
        else:
            status = ReplayStatus.MISMATCH if self.diffs else ReplayStatus.EQUAL
        checked = tuple(step for step in ReplayStep if step in self.checked)
        return ReplayResult(status, tuple(self.diffs), checked, tuple(self.taken))


def differing(
    expected: Mapping[str, Any], found: Mapping[str, Any], *, skip: Sequence[str] = ()
) -> list[str]:
    """The members on which two objects part, in the order of the first."""
    names = [*expected, *(name for name in found if name not in expected)]
    return [
        name
        for name in names
        if name not in skip and expected.get(name, _ABSENT) != found.get(name, _ABSENT)
    ]


_ABSENT = object()
