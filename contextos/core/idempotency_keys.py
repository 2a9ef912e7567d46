"""What every idempotency key looks like, whatever pattern a capability adds."""

from __future__ import annotations

MAX_LENGTH = 255


def key_fault(key: str) -> str | None:
    """Why this can't be a key, in a sentence. What can't be seen would tell two keys apart."""
    if not 1 <= len(key) <= MAX_LENGTH:
        return f"A key has 1 to {MAX_LENGTH} characters."
    if not key.isprintable() or key != key.strip():
        return "A key has no line breaks, no invisible characters and no spaces around it."
    return None
