"""What the far side said, fit for a caller: no secrets, addresses, paths, stack traces (C13)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextos.core import strict_json
from contextos.core.errors import ContextOSError, ErrorKind, spec_for, tool_error
from contextos.core.redaction import redact_text

LONGEST = 2000
_READ = 20_000  # of what is longer, the rest is not looked at
ADDRESS, PLACE = "[address]", "[path]"

# Lines of stack traces as Python, the JVM, Node, .NET, Go and Ruby write them.
_FRAME = re.compile(
    r"^\s*(?:File \"[^\"]*\", line \d+.*|at [\w$.<>\[\]` ]{1,200}\(.*\)\s*"
    r"|at \S{1,200}:\d+(?::\d+)?\s*"
    r"|goroutine \d+ \[.*|\S{1,200}\.go:\d+.*|from \S{1,200}:\d+:in .*|Traceback \(most recent.*"
    r"|\s*\^+\s*|\.\.\. \d+ more)\s*$"
)
_NAMED_ENDS = (
    "com|net|org|io|dev|app|cloud|ai|co|info|biz|in|de|uk|eu|us|internal|local|localdomain|lan"
    "|corp|intranet|home|svc|cluster|consul|test|example|invalid|onion"
)
_ADDRESSES = re.compile(
    r"(?:\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://[^\s\"'<>)\]]+)"  # URLs of any scheme
    r"|(?:\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b)"
    r"|(?:\[?(?<![\w:])(?=[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{1,4}){0,6}::|(?:[0-9a-fA-F]{1,4}:){5})"
    r"(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}\]?(?::\d{1,5})?)"
    r"|(?:\blocalhost(?::\d{1,5})?\b)"
    rf"|(?:(?<![\w.-])(?:[a-zA-Z0-9-]{{1,63}}\.){{1,10}}(?:{_NAMED_ENDS})(?::\d{{1,5}})?(?![\w-]))"
    r"|(?:(?<![\w.-])(?=[a-zA-Z0-9]{1,63}[.-])[a-zA-Z0-9.-]{3,253}:\d{2,5}(?![\w.-]))"
    r"|(?:(?<=\bto )|(?<=\bat )|(?<=\bhost )|(?<=\bfrom )|(?<=\bserver ))"
    r"[a-zA-Z0-9]{2,63}:\d{3,5}\b"
)
_PLACES = re.compile(
    r"(?<![\w/.~-])/(?:home|srv|usr|var|etc|opt|app|tmp|root|proc|mnt|Users|workspace|data)"
    r"(?:/[\w.@+-]+)+|\b[A-Za-z]:\\[^\s\"']+"
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_SPACES = re.compile(r"[ ]{2,}")
# Where details of our own errors name what lies behind the gateway.
_BEHIND = frozenset(
    {"host", "hosts", "ip", "address", "addresses", "url", "uri", "proxy", "endpoint", "location"}
)


def said_by_tool(said: object, limit: int = LONGEST) -> str:
    """A tool's own words, on one line; what can't be stored is marked."""
    text = strict_json.storable(str(said)[:_READ])
    lines = [line for line in text.splitlines() if not _FRAME.match(line)]
    kept = redact_text("\n".join(lines))
    kept = _PLACES.sub(PLACE, _ADDRESSES.sub(ADDRESS, kept))
    return _SPACES.sub(" ", _CONTROLS.sub(" ", kept)).strip()[:limit]


def fault_for_caller(fault: ContextOSError) -> dict[str, Any]:
    """The `error` of an envelope for a fault on the way; our door names hosts, this does not."""
    error = tool_error(fault)
    of_the_door = fault.kind is ErrorKind.EGRESS or fault.code.startswith("egress.")
    said = f"{spec_for(fault.code).title}." if of_the_door else fault.message
    error["message"] = said_by_tool(said)
    details = _details(error.get("details") or {})
    return {name: value for name, value in error.items() if name != "details"} | (
        {"details": details} if details else {}
    )


def _details(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in given.items() if name not in _BEHIND}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return said_by_tool(value, 200)
    if isinstance(value, Mapping):
        return _details(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value[:20]]
    return value
