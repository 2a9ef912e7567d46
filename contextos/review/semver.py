"""Semantic versions: read, compared, and the next one when a manifest names none."""

from __future__ import annotations

import re
from collections.abc import Iterable

from contextos.core.errors import coded_error

_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_PRE = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"  # a number has no leading zero
_SEMVER = re.compile(
    rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})"
    rf"(?:-(?P<pre>{_PRE}(?:\.{_PRE})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
FIRST = "1.0.0"


def require_semver(text: object) -> str:
    """The text, if it is a semantic version of at most 64 characters."""
    if not isinstance(text, str) or len(text) > 64 or not _SEMVER.fullmatch(text):
        raise coded_error("manifest.version_malformed")
    return text


def sort_key(text: str) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
    """Precedence as semver.org defines it; a release comes after its pre-releases."""
    found = _SEMVER.fullmatch(text)
    if found is None:
        return (0, 0, 0, False, ())
    pre = found["pre"]
    parts = tuple(_identifier(part) for part in pre.split(".")) if pre else ()
    return (int(found["major"]), int(found["minor"]), int(found["patch"]), pre is None, parts)


def _identifier(part: str) -> tuple[bool, int, str]:
    numeric = part.isdigit()
    return (not numeric, int(part) if numeric else 0, "" if numeric else part)


def next_version(existing: Iterable[str]) -> str:
    """The next minor version after the highest there is; past the last number, one is asked for."""
    highest = max(existing, key=sort_key, default=None)
    if highest is None:
        return FIRST
    major, minor, *_ = sort_key(highest)
    return require_semver(f"{major}.{minor + 1}.0")
