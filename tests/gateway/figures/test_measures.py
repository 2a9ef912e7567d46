"""Buckets and shares: a percentile is near the truth and never below it (E5)."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.figures.measures import LATENCY, MOST_ABOVE, Sums, bound_of, bucket_name, bucket_of
from gateway.figures.spans import GRAINS, range_of, spans_of, start_of

NOW = datetime(2026, 11, 17, 20, 7, 31, tzinfo=UTC)


@pytest.mark.proves("E5")
@given(st.lists(st.integers(min_value=0, max_value=10**8), min_size=1, max_size=300))
def test_a_percentile_is_at_most_nine_percent_above_the_true_one(times: list[int]) -> None:
    counts: Counter[str] = Counter(bucket_name(LATENCY, each) for each in times)
    counts["latency_ms"] = sum(times)
    spread = Sums(counts).latency
    true = sorted(times)[math.ceil(0.99 * len(times)) - 1]
    told = spread.p99_ms
    assert told is not None
    assert true <= told * (1 + 1e-9)
    assert told <= max(1.0, true * (1 + MOST_ABOVE) * (1 + 1e-9))
    assert spread.mean_ms == sum(times) / len(times)
    assert spread.count == len(times)


@pytest.mark.parametrize("power", range(30))
def test_a_power_of_two_is_the_bound_of_its_own_bucket(power: int) -> None:
    assert bound_of(bucket_of(2**power)) == 2**power
    assert bucket_of(2**power) == 8 * power


def test_figures_of_nothing_are_no_figures() -> None:
    nothing = Sums()
    assert nothing.decisions == 0
    assert nothing.success_rate is None
    assert nothing.denied_per_1000 is None
    assert nothing.replay_correctness is None
    assert nothing.latency.p99_ms is None
    assert nothing.latency.mean_ms is None


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(2000, 1, 1)))
def test_a_moment_lies_in_one_span_of_each_length(moment: datetime) -> None:
    spans = list(spans_of(moment))
    assert [span.grain for span in spans] == [0, *(grain.seconds for grain in GRAINS)]
    for span in spans[1:]:
        assert span.starts_at <= moment < span.starts_at + timedelta(seconds=span.grain)
        assert start_of(span.starts_at, span.grain) == span.starts_at


@pytest.mark.parametrize(
    ("ago", "length", "grain"),
    [
        (timedelta(hours=1), timedelta(hours=1), 300),
        (timedelta(days=1), timedelta(days=1), 3_600),
        (timedelta(days=7), timedelta(days=7), 21_600),
        (timedelta(days=30), timedelta(days=30), 86_400),
        (timedelta(days=20), timedelta(hours=1), 3_600),
        (timedelta(days=300), timedelta(hours=1), 86_400),
    ],
)
def test_a_range_is_read_from_the_finest_spans_still_kept(
    ago: timedelta, length: timedelta, grain: int
) -> None:
    since = NOW - ago
    found = range_of(since, since + length, now=NOW)
    assert found.grain == grain
    assert found.since <= since
    assert found.until >= since + length
    assert len(list(found.starts())) <= 75


def test_a_window_cuts_whole_spans_and_never_shows_one_it_touches() -> None:
    day = range_of(NOW - timedelta(days=1), NOW, now=NOW)
    begins = NOW - timedelta(hours=3, minutes=10)
    inside = day.within(begins, NOW - timedelta(hours=1))
    assert inside is not None
    assert inside.since >= begins
    assert inside.until <= NOW - timedelta(hours=1)
    assert day.within(NOW + timedelta(days=3), None) is None
