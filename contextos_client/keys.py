"""Idempotency keys: one per intended effect, kept for every repetition of that call."""

from __future__ import annotations

import secrets

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def new_key() -> str:
    """A fresh key, such as `ik_2x9k4j7m1q8w0p3z`. Make it once, store it, and repeat with it."""
    return "ik_" + "".join(secrets.choice(_LETTERS) for _ in range(16))
