"""Ids: prefixed, ordered by time, never guessable, safe under threads and forks."""

import itertools
import multiprocessing
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core import ids
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.ids import IdSource, is_id, new_id, parse_id

MOMENTS_MS = st.integers(
    int(datetime(2020, 1, 1, tzinfo=UTC).timestamp() * 1000),
    int(datetime(2150, 1, 1, tzinfo=UTC).timestamp() * 1000),
)


def test_an_id_is_its_prefix_and_26_lowercase_crockford_characters() -> None:
    assert re.fullmatch(r"run_[0-9a-hjkmnp-tv-z]{26}", new_id("run"))


@pytest.mark.parametrize("prefix", ["tool", "run", "dec", "pol", "apr", "ev", "adv", "exp"])
def test_the_prefixes_of_the_contract_are_known(prefix: str) -> None:
    assert is_id(new_id(prefix), prefix)


def test_a_prefix_outside_the_table_is_a_programming_error() -> None:
    with pytest.raises(LookupError, match="PREFIXES"):
        new_id("nonsense")


def test_an_id_tells_when_it_was_made() -> None:
    before = utcnow()
    # A source of its own: the process's one may have seen a later hour in an earlier test.
    made = parse_id(new_id("dec", source=IdSource()))
    assert made.prefix == "dec"
    assert before - timedelta(milliseconds=1) <= made.created_at
    assert made.created_at <= utcnow() + timedelta(milliseconds=100)


@given(MOMENTS_MS, st.lists(st.integers(-ids.MOST_AHEAD_MS // 2, 10**9), min_size=1, max_size=50))
def test_ids_of_one_process_always_rise_even_when_the_clock_does_not(
    start: int, steps: list[int]
) -> None:
    highest, moments = start, [start]
    for step in steps:  # ahead by any time, back by a correction
        moments.append(max(highest + step, highest - ids.MOST_AHEAD_MS // 2))
        highest = max(highest, moments[-1])
    ticks = iter(moments)
    source = IdSource(clock_ms=lambda: next(ticks))
    made = [new_id("run", source=source) for _ in moments]
    assert made == sorted(set(made))


def test_a_clock_that_had_leapt_ahead_is_followed_when_it_is_set_back() -> None:
    now = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp() * 1000)
    ticks = iter([now, now + 7_200_000, now + 1, now + 2])
    source = IdSource(clock_ms=lambda: next(ticks))
    made = [parse_id(new_id("aud", source=source)).created_at for _ in range(4)]
    assert made[2] - made[0] < timedelta(seconds=1)
    assert made[3] > made[2]


@given(MOMENTS_MS, st.integers(1, 10**9))
def test_ids_of_different_processes_sort_by_time(moment: int, later: int) -> None:
    first = new_id("run", source=IdSource(clock_ms=lambda: moment))
    second = new_id("run", source=IdSource(clock_ms=lambda: moment + later))
    assert first < second
    assert int(parse_id(first).created_at.timestamp() * 1000) in (moment, moment - 1)


@given(st.datetimes(datetime(2020, 1, 1), datetime(2150, 1, 1)), st.integers(1, 999))
def test_timed_ids_sort_by_their_moment_to_the_microsecond_then_by_order(
    naive: datetime, later: int
) -> None:
    moment = naive.replace(tzinfo=UTC)
    first, second = (ids.timed_id("rec", moment, order=order) for order in (1, 2))
    third = ids.timed_id("rec", moment + timedelta(microseconds=later), order=1)
    assert first < second < third
    floor = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert parse_id(first).created_at == floor
    assert ids.first_id("rec", moment) < first


def test_a_burst_within_one_millisecond_rolls_over_in_order() -> None:
    source = IdSource(clock_ms=lambda: 1_800_000_000_000)
    made = [new_id("run", source=source) for _ in range(5000)]
    assert made == sorted(set(made))
    drift = parse_id(made[-1]).created_at - parse_id(made[0]).created_at
    assert drift < timedelta(milliseconds=40)


def test_neighbours_within_a_millisecond_are_far_apart() -> None:
    source = IdSource(clock_ms=lambda: 1_800_000_000_000)
    numbers = [source.next_number() for _ in range(200)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(numbers)]
    assert min(gaps) > 2**40


def test_threads_never_get_the_same_id() -> None:
    made: list[list[str]] = [[] for _ in range(8)]

    def collect(into: list[str]) -> None:
        into.extend(new_id("tool") for _ in range(2000))

    threads = [threading.Thread(target=collect, args=(each,)) for each in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one for each in made for one in each}) == 16_000
    assert all(each == sorted(each) for each in made)


def test_a_child_forked_while_the_lock_is_held_still_makes_ids() -> None:
    with ids._source._lock:
        child = multiprocessing.get_context("fork").Process(target=new_id, args=("run",))
        child.start()
        child.join(timeout=10)
    assert child.exitcode == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "run_",
        "run_0123",
        "RUN_01234567890123456789012345",
        "run_0123456789012345678901234i",
        "run_01234567890123456789012345\n",
        "nonsense_01234567890123456789012345",
        "dec_01234567890123456789012345",
    ],
)
def test_what_is_no_id_of_the_kind_expected_is_refused(text: str) -> None:
    assert not is_id(text, "run")
    with pytest.raises(ContextOSError) as caught:
        parse_id(text, "run")
    assert caught.value.code == "id.malformed"
