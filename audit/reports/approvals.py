"""Reports about people who approve: who, how long it took, how hastily, and whose own it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from audit.reports.figures import middle, nine_of_ten, share
from audit.reports.reading import EventSeen, events_in
from audit.reports.types import Cell, Column, Contents, Figure, Kind, Period

QUICK_SECONDS = 3.0  # nobody reads a request in less
VOTED, REFUSED = "approval.voted", "approval.vote_refused"
DECIDED = ("approval.approved", "approval.rejected")
_COUNTED = (
    "Under 3 seconds: the page was open for less, or the vote came within 3 s of the request."
)


@dataclass(frozen=True, slots=True)
class _Vote:
    """One vote, as far as the event tells it; votes before times were kept have none."""

    event: EventSeen
    waited: float | None
    seen: float | None

    @property
    def is_quick(self) -> bool:
        times = [time for time in (self.waited, self.seen) if time is not None]
        return bool(times) and min(times) < QUICK_SECONDS

    @property
    def verdict(self) -> str:
        return self.event.text("verdict")


def approvals_by_person(tenant_id: str, period: Period) -> Contents:
    """Who carries the work, and how."""
    found = events_in(tenant_id, period, [VOTED])
    votes = [_vote(event) for event in found.rows]
    people: dict[str, list[_Vote]] = {}
    for vote in votes:
        people.setdefault(vote.event.who, []).append(vote)
    ordered = sorted(people.items(), key=lambda item: (-len(item[1]), item[0]))
    quick = sum(vote.is_quick for vote in votes)
    busiest = len(ordered[0][1]) if ordered else 0
    return Contents(
        figures=(
            Figure("Votes", len(votes)),
            Figure("People", len(people)),
            Figure("By the busiest person", share(busiest, len(votes)), Kind.SHARE),
            Figure("Under 3 seconds", share(quick, len(votes)), Kind.SHARE, _COUNTED),
        ),
        columns=(
            Column("Person"),
            Column("Votes", Kind.NUMBER),
            Column("Approved", Kind.NUMBER),
            Column("Rejected", Kind.NUMBER),
            Column("For somebody else", Kind.NUMBER),
            Column("Under 3 s", Kind.NUMBER),
            Column("Half within", Kind.SECONDS),
            Column("Last vote", Kind.MOMENT),
        ),
        rows=tuple((name, *_by_person(theirs)) for name, theirs in ordered),
        refs=tuple(theirs[0].event.ref for _, theirs in ordered),
        notes=found.notes,
    )


def _by_person(votes: list[_Vote]) -> tuple[Cell, ...]:
    verdicts = Counter(vote.verdict for vote in votes)
    waited = [vote.waited for vote in votes if vote.waited is not None]
    return (
        len(votes),
        verdicts["approve"],
        verdicts["reject"],
        sum(bool(vote.event.text("on_behalf_of")) for vote in votes),
        sum(vote.is_quick for vote in votes),
        middle(waited),
        votes[0].event.at,
    )


def time_to_decide(tenant_id: str, period: Period) -> Contents:
    """How long requests waited for people, and how many votes nobody can have thought about."""
    found = events_in(tenant_id, period, [*DECIDED, VOTED])
    votes = [_vote(event) for event in found.rows if event.action == VOTED]
    decided = [event for event in found.rows if event.action in DECIDED]
    gates = sorted({event.text("gate") for event in found.rows})
    took = _waits(decided)
    quick = sum(vote.is_quick for vote in votes)
    return Contents(
        figures=(
            Figure("Requests decided", len(decided)),
            Figure("Half within", middle(took), Kind.SECONDS),
            Figure("Nine of ten within", nine_of_ten(took), Kind.SECONDS),
            Figure("Votes under 3 seconds", share(quick, len(votes)), Kind.SHARE, _COUNTED),
        ),
        columns=(
            Column("Gate"),
            Column("Decided", Kind.NUMBER),
            Column("Half within", Kind.SECONDS),
            Column("Nine of ten within", Kind.SECONDS),
            Column("Longest", Kind.SECONDS),
            Column("Votes", Kind.NUMBER),
            Column("Under 3 s", Kind.NUMBER),
            Column("Share under 3 s", Kind.SHARE),
        ),
        rows=tuple(_by_gate(gate, decided, votes) for gate in gates),
        notes=found.notes,
    )


def _by_gate(gate: str, decided: Iterable[EventSeen], votes: Iterable[_Vote]) -> tuple[Cell, ...]:
    theirs = [event for event in decided if event.text("gate") == gate]
    cast = [vote for vote in votes if vote.event.text("gate") == gate]
    took, quick = _waits(theirs), sum(vote.is_quick for vote in cast)
    longest = round(max(took), 3) if took else None
    return (
        gate,
        len(theirs),
        middle(took),
        nine_of_ten(took),
        longest,
        len(cast),
        quick,
        share(quick, len(cast)),
    )


def quick_votes(tenant_id: str, period: Period) -> Contents:
    """Every vote that nobody can have thought about."""
    found = events_in(tenant_id, period, [VOTED])
    votes = [_vote(event) for event in found.rows]
    quick = [vote for vote in votes if vote.is_quick]
    return Contents(
        figures=(
            Figure("Votes", len(votes)),
            Figure("Under 3 seconds", len(quick), Kind.NUMBER, _COUNTED),
            Figure("Share", share(len(quick), len(votes)), Kind.SHARE),
        ),
        columns=(
            Column("When", Kind.MOMENT),
            Column("Person"),
            Column("Vote"),
            Column("Gate"),
            Column("Request"),
            Column("After the request", Kind.SECONDS),
            Column("Page open", Kind.SECONDS),
        ),
        rows=tuple(
            (
                vote.event.at,
                vote.event.who,
                vote.verdict,
                vote.event.text("gate"),
                vote.event.subject_id,
                vote.waited,
                vote.seen,
            )
            for vote in quick
        ),
        refs=tuple(vote.event.ref for vote in quick),
        notes=found.notes,
    )


def self_approval_attempts(tenant_id: str, period: Period) -> Contents:
    """Refused votes on what the voter asked for, wrote or is the agent's owner of."""
    found = events_in(tenant_id, period, [REFUSED])
    return Contents(
        figures=(
            Figure("Attempts", len(found.rows), Kind.NUMBER, "Each was refused and recorded."),
            Figure("People", len({event.who for event in found.rows})),
        ),
        columns=(
            Column("When", Kind.MOMENT),
            Column("Person"),
            Column("Tried to"),
            Column("Gate"),
            Column("Request"),
            Column("Refused as"),
        ),
        rows=tuple(
            (
                event.at,
                event.who,
                event.text("verdict"),
                event.text("gate"),
                event.subject_id,
                event.text("code"),
            )
            for event in found.rows
        ),
        refs=tuple(event.ref for event in found.rows),
        notes=found.notes,
    )


def _vote(event: EventSeen) -> _Vote:
    asked, seen = event.moment("asked_at"), event.data.get("seconds_seen")
    waited = None if asked is None else max(0.0, (event.at - asked).total_seconds())
    return _Vote(event, waited, float(seen) if isinstance(seen, int | float) else None)


def _waits(events: Iterable[EventSeen]) -> list[float]:
    spans = [(event.at, event.moment("asked_at")) for event in events]
    return [max(0.0, (at - asked).total_seconds()) for at, asked in spans if asked is not None]
