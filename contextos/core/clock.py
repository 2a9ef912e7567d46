"""Time as the contracts write it: RFC 3339, UTC, milliseconds, `Z`."""

import re
from datetime import UTC, datetime

from contextos.core.errors import coded_error

_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def utcnow() -> datetime:
    """The present moment, aware and in UTC."""
    return datetime.now(UTC)


def format_time(moment: datetime) -> str:
    """A moment as `2026-01-31T12:00:00.000Z`; a naive datetime is a programming error."""
    if moment.tzinfo is None:
        raise ValueError("a naive datetime has no place in time; pass an aware one")
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The moment that RFC 3339 text names, in UTC; finer than microseconds is cut off."""
    match = _RFC3339.fullmatch(text)
    if not match:
        raise coded_error("time.malformed")
    try:
        return datetime.fromisoformat(_within_microseconds(text, match)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise coded_error("time.malformed") from None


def _within_microseconds(text: str, match: re.Match[str]) -> str:
    fraction = match.group(1) or ""
    head = text[: match.start(2) - len(fraction)]
    return f"{head}{fraction[:7]}{match.group(2)}".upper()
