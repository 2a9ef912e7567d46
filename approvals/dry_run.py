"""How past requests would have gone under other terms, from the votes that were really cast; pure.

Nobody can know who else would have voted, so the answer is about these votes only: were they
enough, were they in time. A vote cast before its stage was open counts once that stage opens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from approvals.gates import GateTerms


class Outcome(StrEnum):
    """How a request ends under some terms, as far as the votes tell."""

    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SHORT = "short"  # in time, but not enough of the right people


@dataclass(frozen=True, slots=True)
class PastVote:
    """One vote; `groups` are those of the person it counts for."""

    voter: str
    verdict: str
    at: datetime
    groups: frozenset[str]
    factor: bool = False


@dataclass(frozen=True, slots=True)
class PastRequest:
    """One decided request, with what is known of it."""

    approval_id: str
    created_at: datetime
    actual: Outcome
    votes: tuple[PastVote, ...] = ()
    mode: str = "destructive"
    paused: timedelta = timedelta(0)
    policy_quorum: int | None = None  # where policy asked for more people than the gate


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer for one request: the outcome, when, and what was missing."""

    outcome: Outcome
    at: datetime | None = None
    missing: tuple[tuple[str, int], ...] = ()  # (stage, people) that did not come
    uncounted: tuple[str, ...] = ()  # voters whose vote would not have counted
    codes_missing: int = 0  # votes that gave no code where one would be needed


@dataclass(slots=True)
class _Count:
    """The state of a request while its votes come in."""

    terms: GateTerms
    opened: datetime
    paused: timedelta
    stage: int = 0
    given: int = 0
    rejections: int = 0
    waiting: list[PastVote] = field(default_factory=list)

    def due(self, seconds: int) -> datetime:
        return self.opened + timedelta(seconds=seconds) + self.paused

    def groups(self, now: datetime) -> frozenset[str]:
        steps = self.terms.escalations
        level = sum(1 for step in steps if self.due(step.after_seconds) <= now)
        return self.terms.groups_at(self.stage, level)

    @property
    def passed(self) -> bool:
        return self.stage >= len(self.terms.stages)

    def take(self, now: datetime) -> None:
        """Count every vote whose stage is open by now, oldest first."""
        while not self.passed:
            allowed = self.groups(now)
            fitting = next((v for v in self.waiting if not v.groups.isdisjoint(allowed)), None)
            if fitting is None:
                return
            self.waiting.remove(fitting)
            self.given += 1
            if self.given >= self.terms.stages[self.stage].quorum:
                self.stage, self.given = self.stage + 1, 0


def replay(request: PastRequest, terms: GateTerms, authors: frozenset[str] = frozenset()) -> Replay:
    """One request under other terms; `authors` of these terms could not have voted."""
    asked = terms.with_quorum(request.policy_quorum)
    count = _Count(asked, request.created_at, request.paused)
    ends = count.due(asked.expires_after_seconds)
    codes = sum(1 for vote in request.votes if _lacks_code(vote, asked, request.mode))
    refused = tuple(vote.voter for vote in request.votes if vote.voter in authors)
    moments = _moments(request, count, authors)
    for at, vote in moments:
        if at >= ends:
            break
        if vote is not None and _counted(count, vote, asked) is Outcome.REJECTED:
            return Replay(Outcome.REJECTED, at, (), refused, codes)
        count.take(at)
        if count.passed:
            return Replay(Outcome.APPROVED, at, (), refused, codes)
    late = any(vote is not None and at >= ends for at, vote in moments)
    over = late or request.actual is Outcome.EXPIRED
    return Replay(
        Outcome.EXPIRED if over else Outcome.SHORT,
        ends if over else None,
        _missing(count),
        (*refused, *(vote.voter for vote in count.waiting)),
        codes,
    )


def _moments(
    request: PastRequest, count: _Count, authors: frozenset[str]
) -> list[tuple[datetime, PastVote | None]]:
    """Votes, and the moments at which escalation brings further groups in, in their order."""
    votes = [(vote.at, vote) for vote in request.votes if vote.voter not in authors]
    steps = [(count.due(step.after_seconds), None) for step in count.terms.escalations]
    return sorted([*votes, *steps], key=lambda moment: moment[0])


def _counted(count: _Count, vote: PastVote, terms: GateTerms) -> Outcome | None:
    if vote.verdict == "reject":
        may = not vote.groups.isdisjoint(terms.groups)
        count.rejections += 1 if may else 0
        return Outcome.REJECTED if count.rejections >= terms.deny_threshold else None
    count.waiting.append(vote)
    return None


def _lacks_code(vote: PastVote, terms: GateTerms, mode: str) -> bool:
    return vote.verdict == "approve" and terms.needs_factor(mode) and not vote.factor


def _missing(count: _Count) -> tuple[tuple[str, int], ...]:
    stages = count.terms.stages[count.stage :]
    first = ((stage.name, stage.quorum - count.given) for stage in stages[:1])
    return (*first, *((stage.name, stage.quorum) for stage in stages[1:]))


@dataclass(frozen=True, slots=True)
class Difference:
    """One request that would have gone another way, or the same."""

    request: PastRequest
    under: Replay

    @property
    def differs(self) -> bool:
        """Whether the end would have been another."""
        return self.request.actual != self.under.outcome


@dataclass(frozen=True, slots=True)
class Report:
    """All requests of a time under other terms."""

    lines: tuple[Difference, ...]
    before: Counter[Outcome]
    after: Counter[Outcome]

    @property
    def changed(self) -> tuple[Difference, ...]:
        """Those that would have ended otherwise."""
        return tuple(line for line in self.lines if line.differs)

    @property
    def codes_missing(self) -> int:
        """Votes that would have needed a code and came without."""
        return sum(line.under.codes_missing for line in self.lines)


def try_out(
    requests: Iterable[PastRequest], terms: GateTerms, authors: frozenset[str] = frozenset()
) -> Report:
    """Every request once."""
    lines: Sequence[Difference] = [
        Difference(request, replay(request, terms, authors)) for request in requests
    ]
    return Report(
        tuple(lines),
        Counter(line.request.actual for line in lines),
        Counter(line.under.outcome for line in lines),
    )
