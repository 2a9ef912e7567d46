"""Prefixed ids that sort by time and that nobody can guess.

An id is `<prefix>_` and 26 Crockford characters: 130 bits, of which 42 count milliseconds since
2020 and 88 are random. Within one millisecond a process adds a random step of 80 bits to its
last id instead of one, so that ids stay ordered and yet knowing one tells nothing of the next.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from contextos.core.errors import coded_error
from contextos.core.randomness import random_bytes

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUE_OF = MappingProxyType({letter: value for value, letter in enumerate(_ALPHABET)})
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_LENGTH = 26
_TIME_BITS = 42
_RANDOM_BITS = 88
_FRESH_BITS = 86  # leaves room above for the steps taken within the same millisecond
_STEP_BITS = 80
_MICRO_BITS = 10  # what a timed id says below its millisecond
_ORDER_BITS = 8
_TIMED_BITS = _RANDOM_BITS - _MICRO_BITS - _ORDER_BITS
MOST_AHEAD_MS = 10 * 60 * 1000
_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
_EPOCH_MS = int(_EPOCH.timestamp() * 1000)
_SHAPE = re.compile(rf"(?P<prefix>[a-z]+)_(?P<body>[{_ALPHABET}]{{{_LENGTH}}})")

PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "acs": "auditor's access",
        "adv": "adapter version",
        "agt": "agent",
        "alert": "alert to operators",
        "apr": "approval request",
        "art": "stored artefact",
        "aud": "audit event",
        "bun": "policy bundle version",
        "chk": "check of the log",
        "cns": "consent of a person",
        "cred": "brokered credential",
        "csr": "request for a consent",
        "dec": "decision",
        "dlg": "delegation of votes",
        "elc": "elicitation",
        "env": "environment",
        "era": "erasure",
        "ev": "evidence",
        "exp": "export",
        "gate": "approval gate version",
        "hold": "legal hold",
        "iss": "trusted issuer",
        "kill": "kill switch",
        "mem": "membership",
        "pack": "context pack version",
        "pay": "encrypted payload",
        "plan": "plan",
        "pol": "policy decision",
        "pur": "purge under retention",
        "qua": "quarantine of a capability",
        "rec": "decision record row",
        "req": "HTTP request",
        "rpj": "replay of a period",
        "rpl": "replay packet",
        "rpt": "report definition",
        "run": "run",
        "ses": "session",
        "skl": "skill version",
        "smp": "sampling request",
        "task": "long-running task",
        "tenant": "tenant",
        "tok": "issued token",
        "tool": "tool call",
        "user": "user",
        "vote": "vote",
    }
)


@dataclass(frozen=True, slots=True)
class ParsedId:
    """What an id says about itself."""

    prefix: str
    created_at: datetime


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class IdSource:
    """Hands out ever larger 130-bit numbers; safe under threads and after a fork.

    Only a clock that was set back far is followed: periods are looked up as ranges of ids, and a
    process that kept to a moment long ahead would hide all it does until that moment comes.
    """

    def __init__(self, clock_ms: Callable[[], int] = _wall_clock_ms) -> None:
        self._clock_ms = clock_ms
        self._lock = threading.Lock()
        self._millisecond = 0
        self._random = 0

    def next_number(self) -> int:
        """The next number: larger than every earlier one while the clock is not set back."""
        with self._lock:
            self._advance(max(0, self._clock_ms() - _EPOCH_MS))
            return self._millisecond << _RANDOM_BITS | self._random

    def _advance(self, now: int) -> None:
        # A clock that stands still or is corrected a little must not break the order.
        if now > self._millisecond or self._millisecond - now > MOST_AHEAD_MS:
            self._start(now)
            return
        self._random += 1 + _random_bits(_STEP_BITS)
        if self._random >> _RANDOM_BITS:
            self._start(self._millisecond + 1)

    def _start(self, millisecond: int) -> None:
        self._millisecond = millisecond
        self._random = _random_bits(_FRESH_BITS)

    def forget_lock(self) -> None:
        """Drop a lock that another thread may have held while this process was forked off."""
        self._lock = threading.Lock()


_source = IdSource()
os.register_at_fork(after_in_child=_source.forget_lock)


def new_id(prefix: str, *, source: IdSource = _source) -> str:
    """A new id such as `run_01j...`; the prefix must stand in the table."""
    if prefix not in PREFIXES:
        raise LookupError(f"id prefix {prefix!r} is not in contextos.core.ids.PREFIXES")
    return f"{prefix}_{_encode(source.next_number())}"


def timed_id(prefix: str, moment: datetime, *, order: int) -> str:
    """An id that says exactly that moment; of one microsecond the lower order sorts first.

    For rows whose time is given: a range of times is then a range of ids.
    """
    if prefix not in PREFIXES:
        raise LookupError(f"id prefix {prefix!r} is not in contextos.core.ids.PREFIXES")
    number = _milliseconds(moment) << _MICRO_BITS | moment.microsecond % 1000
    number = number << _ORDER_BITS | min(max(0, order), (1 << _ORDER_BITS) - 1)
    number = number << _TIMED_BITS | _random_bits(_TIMED_BITS)
    return f"{prefix}_{_encode(number)}"


def is_id(text: str, prefix: str | None = None) -> bool:
    """Whether text is an id of ours, of the given kind if one is named."""
    match = _SHAPE.fullmatch(text)
    if not match or match["prefix"] not in PREFIXES:
        return False
    return prefix is None or match["prefix"] == prefix


def parse_id(text: str, prefix: str | None = None) -> ParsedId:
    """Prefix and time of an id, or a coded error."""
    if not is_id(text, prefix):
        raise coded_error("id.malformed", data={"expected": prefix} if prefix else None)
    found, _, body = text.partition("_")
    milliseconds = _decode(body) >> _RANDOM_BITS
    return ParsedId(prefix=found, created_at=_EPOCH + timedelta(milliseconds=milliseconds))


def first_id(prefix: str, moment: datetime) -> str:
    """What every id made from that millisecond on sorts after: for ranges, never for a row."""
    return f"{prefix}_{_encode(_milliseconds(moment) << _RANDOM_BITS)}"


def _milliseconds(moment: datetime) -> int:
    passed = (moment - _EPOCH) // timedelta(milliseconds=1)
    return min(max(0, passed), (1 << _TIME_BITS) - 1)


def _random_bits(count: int) -> int:
    """As `secrets.randbits`, without a question to the system each time."""
    return int.from_bytes(random_bytes(count + 7 >> 3), "big") >> (-count % 8)


def _encode(number: int) -> str:
    pairs = [_PAIRS[number >> shift & 1023] for shift in range(10 * (_LENGTH // 2 - 1), -1, -10)]
    return "".join(pairs)


def _decode(body: str) -> int:
    number = 0
    for letter in body:
        number = number << 5 | _VALUE_OF[letter]
    return number
