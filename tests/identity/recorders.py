"""Recorders for tests of the wire: one that fails, and one that is no callable."""

from __future__ import annotations

from typing import Any

NOT_CALLABLE = "text"


def failing(**fields: Any) -> object:
    """The log can't be written."""
    raise RuntimeError("the log is full")
