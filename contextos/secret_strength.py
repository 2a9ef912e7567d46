"""Judges a configured secret: too short, well known, or easy to guess."""

from __future__ import annotations

from itertools import pairwise

MIN_BYTES = 32
_MIN_DISTINCT = 10
# Words that stand in examples, tutorials and this repository's own papers, never in a drawn key.
_WELL_KNOWN = (
    "django-insecure",
    "changeme",
    "change-me",
    "change_me",
    "replaceme",
    "replace-me",
    "replace_me",
    "password",
    "passw0rd",
    "secret",
    "example",
    "default",
    "contextos",
    "insecure",
    "test-only",
    "letmein",
)

HINT = (
    "Draw one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'` "
    "and pass it as a file through the variable's _FILE form."
)


def weakness_of(secret: str) -> str | None:
    """Why a secret must not be used, in words that follow its name; None when it is fine."""
    if not secret:
        return "is missing"
    if len(secret.encode()) < MIN_BYTES:
        return f"is shorter than {MIN_BYTES} bytes"
    if any(word in secret.lower() for word in _WELL_KNOWN):
        return "is a well-known or example value"
    if len(set(secret)) < _MIN_DISTINCT or _repeats(secret) or _counts(secret):
        return "is easy to guess"
    return None


def _repeats(secret: str) -> bool:
    # A text made of copies of a shorter one is found inside its own double, ends cut off.
    return secret in (secret + secret)[1:-1]


def _counts(secret: str) -> bool:
    """Whether most neighbours follow each other, as in 0123456789abcdef."""
    steps = [abs(ord(left) - ord(right)) for left, right in pairwise(secret)]
    return sum(step <= 1 for step in steps) * 2 > len(steps)
