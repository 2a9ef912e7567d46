"""What is counted, and what the counts amount to; pure (E5).

Times are kept in buckets whose bounds grow by the eighth root of two. A percentile is the upper
bound of the bucket it falls into: never below the true value, and less than 9.1 % above it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

STEPS_PER_DOUBLING = 8
MOST_ABOVE = 2 ** (1 / STEPS_PER_DOUBLING) - 1  # how far above the truth a percentile can be
LATENCY, WAIT = "latency", "wait"
# How a decision can end; each counts once in the hour of its last row, refusals with repeats.
ENDS = ("executed", "failed", "rejected", "expired", "cancelled")
DENIED = ("rejected", "expired", "cancelled")  # as `outcome` in a record says


def bucket_of(milliseconds: float) -> int:
    """The number of the bucket; bucket 0 holds everything up to one millisecond."""
    if milliseconds <= 1:
        return 0
    return math.ceil(STEPS_PER_DOUBLING * math.log2(milliseconds))


def bound_of(bucket: int) -> float:
    """The bucket's upper bound in milliseconds."""
    return float(2 ** (bucket / STEPS_PER_DOUBLING))


def bucket_name(kind: str, milliseconds: float) -> str:
    """The measure that one time counts into."""
    return f"{kind}.{bucket_of(milliseconds):03d}"


@dataclass(frozen=True, slots=True)
class Spread:
    """Times, as far as their buckets and their sum tell."""

    count: int = 0
    total_ms: int = 0
    buckets: tuple[tuple[int, int], ...] = ()  # (bucket, how many), in order

    @property
    def mean_ms(self) -> float | None:
        """Exact: the sum is kept beside the buckets."""
        return self.total_ms / self.count if self.count else None

    def within_ms(self, share: float) -> float | None:
        """What this share of them stays within; see the module's word on how near that is."""
        rank, seen = math.ceil(share * self.count), 0
        for bucket, number in self.buckets:
            seen += number
            if seen >= rank:
                return bound_of(bucket)
        return None

    @property
    def p99_ms(self) -> float | None:
        """Ninety-nine of a hundred stay within it."""
        return self.within_ms(0.99)


@dataclass(frozen=True, slots=True)
class Sums:
    """Counts by measure, and the figures that follow from them."""

    counts: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, measure: str) -> int:
        return self.counts.get(measure, 0)

    def __add__(self, other: Sums) -> Sums:
        return Sums(Counter(self.counts) + Counter(other.counts))

    @classmethod
    def total(cls, parts: Iterable[Sums]) -> Sums:
        """All of them together."""
        whole: Counter[str] = Counter()
        for part in parts:
            whole.update(part.counts)
        return cls(whole)

    @property
    def decisions(self) -> int:
        """Decisions that ended, each repeat of a refusal among them."""
        return sum(self[end] for end in ENDS)

    @property
    def denied(self) -> int:
        """Decisions that ended without the tool being called."""
        return sum(self[end] for end in DENIED)

    @property
    def denied_per_1000(self) -> float | None:
        """Of all that ended."""
        return _share(1000 * self.denied, self.decisions)

    @property
    def success_rate(self) -> float | None:
        """Of the calls that reached the tool and whose end is known, 0 to 1."""
        return _share(self["executed"], self["executed"] + self["failed"])

    @property
    def misclassified_per_1000(self) -> float | None:
        """Of the calls that reached the tool and whose end is known."""
        return _share(1000 * self["misclassified"], self["executed"] + self["failed"])

    @property
    def replay_correctness(self) -> float | None:
        """Of the answers given again for a key, those equal to the recorded one, 0 to 1."""
        return _share(self["replays_equal"], self["replays"])

    @property
    def open_unknowns(self) -> int:
        """Became unknown less settled, in this time: below zero when old ones were settled."""
        return self["unknown"] - self["reconciled"]

    @property
    def latency(self) -> Spread:
        """Time from the gateway's attempt to the tool's answer."""
        return self._spread(LATENCY)

    @property
    def wait(self) -> Spread:
        """Time from the request of an approval to its decision."""
        return self._spread(WAIT)

    def _spread(self, kind: str) -> Spread:
        found = sorted(
            (int(name.rpartition(".")[2]), count)
            for name, count in self.counts.items()
            if name.startswith(f"{kind}.") and count
        )
        return Spread(sum(count for _, count in found), self[f"{kind}_ms"], tuple(found))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
