"""W3C trace context: reads `traceparent` strictly, mints it when absent, keeps the current one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from urllib.parse import quote

from contextos.core.randomness import random_bytes

_TRACEPARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace_id>[0-9a-f]{32})-(?P<span_id>[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})(?P<rest>-.*)?"
)
# What is passed on of `tracestate`: as many characters and members as W3C asks everybody to take.
_STATE_LIMIT, _STATE_MEMBERS, _STATE_READ = 512, 32, 8192
_LONG_MEMBER = 128
_STATE_KEY = r"(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
_STATE_VALUE = r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
_STATE_MEMBER = re.compile(rf"(?P<key>{_STATE_KEY})={_STATE_VALUE}")
_SAMPLED = 0x01


@dataclass(frozen=True, slots=True)
class TraceContext:
    """One span of one trace; `parent_id` is the caller's span, if there was a caller."""

    trace_id: str
    span_id: str
    flags: int = 0
    parent_id: str | None = None
    state: str | None = None

    @property
    def traceparent(self) -> str:
        """The header for calls made from this span."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"

    @property
    def echo(self) -> str:
        """The header a caller gets back: its own if it sent one, else the one minted here."""
        return f"00-{self.trace_id}-{self.parent_id or self.span_id}-{self.flags:02x}"


_current: ContextVar[TraceContext | None] = ContextVar("contextos_trace", default=None)


def current_trace() -> TraceContext | None:
    """The trace of the request or task being worked on."""
    return _current.get()


def state_of_caller(trace_id: str | None) -> str:
    """The `tracestate` to pass on with a call made in this trace; that of another stays here."""
    trace = _current.get()
    return trace.state or "" if trace is not None and trace.trace_id == trace_id else ""


def enter_trace(trace: TraceContext) -> Token[TraceContext | None]:
    """Make a trace the current one; give the token to `leave_trace`."""
    return _current.set(trace)


def leave_trace(token: Token[TraceContext | None]) -> None:
    """Go back to the trace that was current before."""
    _current.reset(token)


def begin_trace(traceparent: str | None, tracestate: str | None = None) -> TraceContext:
    """A new span: in the caller's trace if its header can be honoured, else in a fresh trace."""
    caller = parse_traceparent(traceparent) if traceparent else None
    if caller is None:
        return TraceContext(trace_id=_random_hex(16), span_id=_random_hex(8), flags=_SAMPLED)
    return TraceContext(
        trace_id=caller.trace_id,
        span_id=_random_hex(8),
        flags=caller.flags,
        parent_id=caller.span_id,
        state=_sane_state(tracestate),
    )


def parse_traceparent(header: str) -> TraceContext | None:
    """The caller's span, or None when the header breaks the W3C recommendation."""
    match = _TRACEPARENT.fullmatch(header)
    if match is None or match["version"] == "ff":
        return None
    if match["version"] == "00" and match["rest"]:
        return None
    if set(match["trace_id"]) == {"0"} or set(match["span_id"]) == {"0"}:
        return None
    # Of the flags of a later version only `sampled` is known to mean the same.
    flags = int(match["flags"], 16)
    if match["version"] != "00":
        flags &= _SAMPLED
    return TraceContext(trace_id=match["trace_id"], span_id=match["span_id"], flags=flags)


def _sane_state(header: str | None) -> str | None:
    """The members that can be passed on: a malformed list is dropped, a repeated key counts once.

    Of too long a list, long members go first, then those at its end, which are the oldest.
    """
    if not header or len(header) > _STATE_READ:
        return None
    members: dict[str, str] = {}
    for item in filter(None, (part.strip(" \t") for part in header.split(","))):
        found = _STATE_MEMBER.fullmatch(item)
        if found is None:
            return None
        members.setdefault(found["key"], item)
    if len(members) > _STATE_MEMBERS:
        return None
    return _shortened(list(members.values())) or None


def _shortened(members: list[str]) -> str:
    if len(",".join(members)) > _STATE_LIMIT:
        members = [member for member in members if len(member) <= _LONG_MEMBER]
    while len(",".join(members)) > _STATE_LIMIT:
        members.pop()
    return ",".join(members)


def _random_hex(size: int) -> str:
    value = random_bytes(size).hex()
    return value if set(value) != {"0"} else _random_hex(size)


def baggage_text(baggage: Mapping[str, str]) -> str:
    """The members as the W3C header writes them."""
    return ",".join(f"{name}={quote(value, safe='')}" for name, value in baggage.items())
