"""Durations as people type them: 90s, 15m, 1h, 7d or plain seconds."""

from __future__ import annotations

import re
from datetime import timedelta

_SHAPE = re.compile(r"(?P<count>[0-9]{1,9})(?P<unit>[smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_duration(text: str) -> timedelta:
    """The duration, or a ValueError that says how to write one."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise ValueError("write a duration such as 90s, 15m, 1h or 7d")
    return timedelta(seconds=int(match["count"]) * _SECONDS[match["unit"]])
