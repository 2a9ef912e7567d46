"""Time: written and read as RFC 3339 in UTC."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.clock import format_time, parse_time, utcnow
from contextos.core.errors import ContextOSError


def test_times_are_written_with_milliseconds_and_z() -> None:
    berlin = timezone(timedelta(hours=2))
    assert format_time(datetime(2026, 7, 1, 14, 0, 0, 5999, berlin)) == "2026-07-01T12:00:00.005Z"


def test_a_naive_time_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="naive"):
        format_time(datetime(2026, 1, 1))


def test_now_is_in_utc() -> None:
    assert utcnow().tzinfo is UTC


@given(st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.just(UTC)))
def test_a_time_survives_writing_and_reading_to_the_millisecond(moment: datetime) -> None:
    parsed = parse_time(format_time(moment))
    assert timedelta(0) <= moment - parsed < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31t12:00:00z",
        "2026-01-31T13:00:00+01:00",
        "2026-01-31T12:00:00.000000000Z",
    ],
)
def test_every_spelling_of_rfc_3339_is_read(text: str) -> None:
    assert parse_time(text) == datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-13-01T00:00:00Z",
        "2026-01-31T12:00:00Z\n",
        "20260131T120000Z",
        "2026-01-31T25:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "２026-01-31T12:00:00Z",
    ],
)
def test_anything_else_is_a_coded_error(text: str) -> None:
    with pytest.raises(ContextOSError) as caught:
        parse_time(text)
    assert caught.value.code == "time.malformed"
