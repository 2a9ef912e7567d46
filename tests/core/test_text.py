"""Untrusted text: everything that hides is shown, everything that shows is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.text import has_invisible, reveal_invisible, single_line

HIDDEN = {
    "bidi override": ("\u202e", "⟨U+202E⟩"),
    "bidi isolate": ("\u2066", "⟨U+2066⟩"),
    "zero width space": ("\u200b", "⟨U+200B⟩"),
    "zero width joiner": ("\u200d", "⟨U+200D⟩"),
    "byte order mark": ("\ufeff", "⟨U+FEFF⟩"),
    "soft hyphen": ("\u00ad", "⟨U+00AD⟩"),
    "tag letter": ("\U000e0041", "⟨U+E0041⟩"),
    "variation selector": ("\U000e0100", "⟨U+E0100⟩"),
    "escape": ("\x1b", "⟨U+001B⟩"),
    "null": ("\x00", "⟨U+0000⟩"),
    "next line": ("\x85", "⟨U+0085⟩"),
    "line separator": ("\u2028", "⟨U+2028⟩"),
    "hangul filler": ("\u3164", "⟨U+3164⟩"),
    "private use": ("\ue000", "⟨U+E000⟩"),
    "lone surrogate": ("\ud800", "⟨U+D800⟩"),
}


@pytest.mark.proves("B18")
@pytest.mark.parametrize(("character", "shown"), HIDDEN.values(), ids=HIDDEN)
def test_what_hides_is_spelt_out(character: str, shown: str) -> None:
    text = f"issue{character}refund"
    assert has_invisible(text)
    assert reveal_invisible(text) == f"issue{shown}refund"


@pytest.mark.parametrize("text", ["plain", "Zürich 東京 🙂", "two\nlines\tand a tab", ""])
def test_what_shows_is_left_alone(text: str) -> None:
    assert not has_invisible(text)
    assert reveal_invisible(text) == text


@given(st.text())
def test_revealed_text_hides_nothing_and_is_not_revealed_twice(text: str) -> None:
    revealed = reveal_invisible(text)
    assert not has_invisible(revealed)
    assert reveal_invisible(revealed) == revealed
    assert has_invisible(text) == (revealed != text)


@given(st.text(), st.integers(1, 80))
def test_a_single_line_is_one_line_and_short(text: str, limit: int) -> None:
    line = single_line(text, limit=limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_a_single_line_says_that_it_was_cut() -> None:
    assert single_line("a \n b\t c") == "a b c"
    assert single_line("abcdef", limit=4) == "abc…"
