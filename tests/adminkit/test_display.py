"""Small pieces of HTML: safe whatever they are given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from contextos.adminkit.display import badge, mode_badge, relative, short_hash, untrusted, when
from contextos.core.modes import ApprovalMode

NOW = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)


@given(st.text())
def test_no_text_can_open_a_tag(text: str) -> None:
    for shown in (badge(text), untrusted(text), short_hash(text), mode_badge(text)):
        inner = shown.split(">", 1)[1].rsplit("<", 1)[0]
        assert "<" not in inner
        assert ">" not in inner


def test_invisible_characters_of_agent_text_are_shown() -> None:
    assert "⟨U+202E⟩" in untrusted("pay\u202eeno")


@pytest.mark.parametrize("mode", list(ApprovalMode))
def test_every_mode_is_named_in_words(mode: ApprovalMode) -> None:
    assert mode.value.replace("_", " ") in mode_badge(mode.value)


def test_the_five_modes_rise_from_calm_to_danger() -> None:
    assert "cos-badge--neutral" in mode_badge("read_only")
    assert "cos-badge--danger" in mode_badge("destructive")


def test_an_unknown_mode_looks_dangerous() -> None:
    assert "cos-badge--danger" in mode_badge("harmless")


def test_a_digest_keeps_its_whole_value_at_hand() -> None:
    digest = "sha256:" + "ab" * 32
    assert digest in short_hash(digest)
    assert "abababababab…" in short_hash(digest)


@time_machine.travel(NOW, tick=False)
def test_times_are_utc_and_relative() -> None:
    assert relative(NOW) == "just now"
    assert relative(NOW - timedelta(hours=3)) == "3\xa0hours ago"
    assert relative(NOW + timedelta(days=2)) == "in 2\xa0days"
    shown = when(NOW - timedelta(hours=3))
    assert "2030-05-01 09:00 UTC" in shown
    assert 'datetime="2030-05-01T09:00:00+00:00"' in shown
    assert "never" in when(None)
