"""The number beside the queue in the menu."""

from __future__ import annotations

from django.http import HttpRequest

from approvals.viewer import viewer_of

MOST_COUNTED = 99


def mine_badge(request: HttpRequest) -> str:
    """How many requests wait for this person's vote; nothing when none does."""
    viewer = viewer_of(request)
    number = viewer.mine_count if viewer else 0
    if number > MOST_COUNTED:
        return f"{MOST_COUNTED}+"
    return str(number) if number else ""
