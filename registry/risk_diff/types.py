"""What a risk diff says: changes, each with a direction, and the verdict over all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Direction(StrEnum):
    """Which way a change moves the risk; UNKNOWN counts as WIDENS everywhere."""

    WIDENS = "widens"
    UNKNOWN = "unknown"
    NARROWS = "narrows"
    NEUTRAL = "neutral"

    @property
    def needs_review(self) -> bool:
        """Whether a person has to look at the change before it may take effect."""
        return self in _NEED_REVIEW

    @property
    def rank(self) -> int:
        """The place in a report: what needs a look comes first."""
        return _RANKS[self.value]


_NEED_REVIEW = frozenset({Direction.WIDENS, Direction.UNKNOWN})
_RANKS: Mapping[str, int] = MappingProxyType(
    {direction.value: rank for rank, direction in enumerate(Direction)}
)


class Verdict(StrEnum):
    """The whole diff in one word."""

    WIDENS = "widens"
    NARROWS = "narrows"
    NEUTRAL = "neutral"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two manifests and what it means for risk.

    `pointer` is a place in the new manifest, or in the old one where something was removed.
    `before` and `after` are the raw values; None also stands for "not there".
    """

    rule: str
    direction: Direction
    pointer: str
    subject: str
    before: object
    after: object
    message: str
    why: str

    def as_dict(self) -> dict[str, object]:
        """The change as JSON-ready members."""
        return {
            "rule": self.rule,
            "direction": self.direction.value,
            "pointer": self.pointer,
            "subject": self.subject,
            "before": self.before,
            "after": self.after,
            "message": self.message,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class RiskDiff:
    """Every change between two manifest versions, widenings and unknowns first."""

    changes: tuple[Change, ...]

    @property
    def verdict(self) -> Verdict:
        """`widens` as soon as one change widens, or may widen, what the adapter can do."""
        directions = {change.direction for change in self.changes}
        if directions & _NEED_REVIEW:
            return Verdict.WIDENS
        if Direction.NARROWS in directions:
            return Verdict.NARROWS
        return Verdict.NEUTRAL if directions else Verdict.UNCHANGED

    def counts(self) -> dict[str, int]:
        """How many changes go each way."""
        tally = {direction.value: 0 for direction in Direction}
        for change in self.changes:
            tally[change.direction.value] += 1
        return tally

    def as_dict(self) -> dict[str, object]:
        """The diff as JSON-ready members."""
        return {
            "verdict": self.verdict.value,
            "counts": self.counts(),
            "changes": [change.as_dict() for change in self.changes],
        }
