"""What a waiting call says about itself, and how long things take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gateway.admin.labels import length, waiting_words
from gateway.models import ToolCall

SOON, LONG_AGO = timedelta(seconds=20), -timedelta(minutes=5)


@pytest.mark.parametrize(
    ("state", "moments", "said"),
    [
        ("queued", {"due_at": SOON}, "queued, due in a moment"),
        ("queued", {"due_at": LONG_AGO}, "queued, due 5 minutes ago"),
        ("queued", {}, "queued"),
        ("executing", {"lease_until": SOON}, "lease ends in a moment"),
        ("executing", {"lease_until": LONG_AGO}, "lease ran out 5 minutes ago"),
        ("working", {"due_at": SOON}, "next poll in a moment"),
        ("working", {"lease_until": SOON}, "lease ends in a moment"),
        ("input_required", {"ends_at": SOON}, "for an answer, given up in a moment"),
        ("input_required", {}, "for an answer"),
        ("paused", {"created_at": LONG_AGO}, "for approval, asked 5 minutes ago"),
        ("unknown_outcome", {}, "for an operator"),
        ("ok", {"due_at": SOON}, ""),
        ("failed", {}, ""),
    ],
    ids=str,
)
def test_a_call_says_what_it_waits_for(state: str, moments: dict[str, Any], said: str) -> None:
    now = timezone.now()
    call = ToolCall(state=state, **{name: now + span for name, span in moments.items()})
    assert waiting_words(call).replace("\xa0", " ") == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0 ms"),
        (0.34, "340 ms"),
        (12, "12 s"),
        (600, "10 min"),
        (8000, "2 h"),
        (9e5, "10 days"),
    ],
)
def test_lengths_are_told_in_the_largest_unit_that_fits(seconds: float, said: str) -> None:
    assert length(timedelta(seconds=seconds)) == said
