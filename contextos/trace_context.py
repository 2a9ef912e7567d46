"""W3C trace context: reads `traceparent` strictly, mints it when absent, keeps the current one."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar, Token
from dataclasses import dataclass

_TRACEPARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace_id>[0-9a-f]{32})-(?P<span_id>[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})(?P<rest>-.*)?"
)
_TRACESTATE_LIMIT = 512
_TRACESTATE = re.compile(r"[\x20-\x7e]+")
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
    if not header or len(header) > _TRACESTATE_LIMIT or not _TRACESTATE.fullmatch(header):
        return None
    return header


def _random_hex(size: int) -> str:
    value = secrets.token_hex(size)
    return value if set(value) != {"0"} else _random_hex(size)
