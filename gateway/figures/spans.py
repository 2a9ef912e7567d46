"""Spans of time that counts are kept for: short ones for a while, long ones for good; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

ALL_TIME = 0
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Grain:
    """One length of spans: how long they are kept, and for which ranges they are read."""

    seconds: int
    kept: timedelta | None  # None is for good
    longest: timedelta | None  # a longer range is read from longer spans


GRAINS = (
    Grain(300, timedelta(days=3), timedelta(hours=6)),
    Grain(3_600, timedelta(days=35), timedelta(days=2)),
    Grain(21_600, timedelta(days=190), timedelta(days=9)),
    Grain(86_400, None, None),
)


@dataclass(frozen=True, slots=True)
class Span:
    """From a moment on for some seconds; both follow from the grain."""

    grain: int
    starts_at: datetime


@dataclass(frozen=True, slots=True)
class Range:
    """Whole spans of one grain, end not included: what was asked for, rounded outwards."""

    since: datetime
    until: datetime
    grain: int

    def __contains__(self, moment: datetime) -> bool:
        return self.since <= moment < self.until

    def within(self, since: datetime | None, until: datetime | None) -> Range | None:
        """The whole spans of it that lie between two moments; None when there is none."""
        start, end = self.since, self.until
        if since is not None and since > start:
            start = _first_start(since, self.grain)
        if until is not None and until < end:
            end = start_of(until, self.grain)
        return Range(start, end, self.grain) if start < end else None

    def starts(self) -> Iterator[datetime]:
        """The beginning of every span in it."""
        step, start = timedelta(seconds=self.grain), self.since
        while start < self.until:
            yield start
            start += step


def spans_of(moment: datetime) -> Iterator[Span]:
    """Every span that a moment lies in, all time included."""
    yield Span(ALL_TIME, EPOCH)
    for grain in GRAINS:
        yield Span(grain.seconds, start_of(moment, grain.seconds))


def start_of(moment: datetime, grain: int) -> datetime:
    """The beginning of the span of this length that a moment lies in."""
    return EPOCH + (moment - EPOCH) // timedelta(seconds=grain) * timedelta(seconds=grain)


def range_of(since: datetime, until: datetime, *, now: datetime) -> Range:
    """The finest whole spans for a range, given what is still kept of it."""
    grain = next(
        item.seconds
        for item in GRAINS
        if (item.longest is None or until - since <= item.longest)
        and (item.kept is None or since >= now - item.kept)
    )
    return Range(start_of(since, grain), _first_start(until, grain), grain)


def _first_start(moment: datetime, grain: int) -> datetime:
    """The first beginning of a span that is not before a moment."""
    start = start_of(moment, grain)
    return start if start == moment else start + timedelta(seconds=grain)
