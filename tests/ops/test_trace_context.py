"""W3C trace context is read strictly and never lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.trace_context import begin_trace, parse_traceparent

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{SPAN}-01"


def test_a_good_header_is_honoured_under_a_span_of_our_own() -> None:
    trace = begin_trace(GOOD)
    assert (trace.trace_id, trace.parent_id, trace.flags) == (TRACE, SPAN, 1)
    assert trace.span_id != SPAN
    assert trace.echo == GOOD
    assert trace.traceparent == f"00-{TRACE}-{trace.span_id}-01"


def test_without_a_header_a_new_trace_begins() -> None:
    first, second = begin_trace(None), begin_trace(None)
    assert first.trace_id != second.trace_id
    assert parse_traceparent(first.echo) is not None
    assert first.parent_id is None


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        GOOD.upper(),
        GOOD + "\n",
        " " + GOOD,
        GOOD + "-extra",
        GOOD.replace("00-", "ff-", 1),
        GOOD.replace("00-", "0g-", 1),
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01",
        "٠٠" + GOOD[2:],
    ],
)
def test_a_header_that_breaks_the_recommendation_starts_a_new_trace(header: str) -> None:
    assert parse_traceparent(header) is None
    assert begin_trace(header).trace_id != TRACE


def test_a_later_version_is_understood_as_far_as_it_is_known() -> None:
    trace = begin_trace(f"cc-{TRACE}-{SPAN}-ff-what-comes-later")
    assert (trace.trace_id, trace.flags) == (TRACE, 1)
    assert trace.echo == GOOD


def test_tracestate_belongs_to_an_honoured_header_only() -> None:
    assert begin_trace(GOOD, "vendor=1").state == "vendor=1"
    assert begin_trace(None, "vendor=1").state is None
    assert begin_trace(GOOD, "x" * 513).state is None
    assert begin_trace(GOOD, "a=b\r\nSet-Cookie: c").state is None


@given(st.text(max_size=80))
def test_any_text_is_either_honoured_or_replaced_by_a_valid_header(text: str) -> None:
    trace = begin_trace(text)
    assert parse_traceparent(trace.echo) is not None
    assert parse_traceparent(trace.traceparent) is not None


@pytest.mark.proves("C22")
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a=1,b=2", "a=1,b=2"),
        (" a=1 ,\tb=2, ,", "a=1,b=2"),
        ("a=1,b=2,a=3", "a=1,b=2"),  # a key counts once, and the newest stands first
        ("tenant@vendor=x y", "tenant@vendor=x y"),
        ("a", None),
        ("A=1", None),
        ("a=1,b==2", None),
        ("a=1;b=2\x00", None),
        ("a=é", None),
        (",".join(f"k{n}=v" for n in range(33)), None),
        (",".join(["a=1", f"long={'x' * 200}", *(f"b{n}={'z' * 90}" for n in range(5))]), 512),
        (f"a={'x' * 9000}", None),
    ],
)
def test_of_a_tracestate_what_is_sound_is_passed_on(sent: str, kept: str | int | None) -> None:
    state = begin_trace(GOOD, sent).state
    if isinstance(kept, int):
        assert state is not None
        assert len(state) <= kept
        assert state.startswith("a=1,b0=")
        assert "long" not in state
    else:
        assert state == kept


def test_two_traceparents_are_none() -> None:
    assert parse_traceparent(f"{GOOD},{GOOD}") is None
    assert begin_trace(f"{GOOD},{GOOD}", "a=1").state is None
