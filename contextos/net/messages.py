"""The request a caller asks for and the answer it gets: checked, frozen, silent about secrets."""

import json as json_format
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, overload

from contextos.core.errors import ContextOSError
from contextos.net.failures import failure
from contextos.net.targets import Target, join_target, parse_target

# The only encoding asked for: zlib can stop at a byte count, so a bomb is never inflated.
ACCEPTED_ENCODING = "gzip"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

# Framing, routing and hop-by-hop fields are the door's own.
_RESERVED_HEADERS = frozenset(
    {
        "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive",
        "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    }
)  # fmt: skip
# Another origin gets these and nothing else: which custom header holds a key, only its owner knows.
_HEADERS_FOR_STRANGERS = frozenset(
    {"accept", "accept-language", "traceparent", "tracestate", "user-agent"}
)
_HEADERS_OF_A_BODY = frozenset({"content-type", "content-language", "content-encoding"})


@dataclass(frozen=True, slots=True)
class Response:
    """The whole answer. `host` and `peer_ip` are what a DecisionRecord notes as egress.

    Behind a proxy `peer_ip` is the proxy's address and `via_proxy` says so.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    content: bytes = field(repr=False)
    host: str
    peer_ip: str
    elapsed_ms: int = 0
    via_proxy: bool = False

    @overload
    def header(self, name: str) -> str | None: ...
    @overload
    def header(self, name: str, default: str) -> str: ...
    def header(self, name: str, default: str | None = None) -> str | None:
        """The first header of that name; names are compared without case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), default)


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request that has passed the checks on its form. Its headers and body are never shown."""

    method: str
    target: Target
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)

    def wire_headers(self) -> list[tuple[str, str]]:
        own = [("Host", self.target.authority), ("Accept-Encoding", ACCEPTED_ENCODING)]
        if self.content is not None or self.method in {"POST", "PUT", "PATCH"}:
            own.append(("Content-Length", str(len(self.content or b""))))
        return own + list(self.headers)

    def accompanied(self, headers: Mapping[str, str]) -> "OutgoingRequest":
        """With these as well, where the caller has not set them itself."""
        own = {name.lower() for name, _ in self.headers}
        more = tuple(item for item in headers.items() if item[0].lower() not in own)
        return replace(self, headers=(*self.headers, *more))


def build_request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None,
    content: bytes | None,
    json: Any,
) -> OutgoingRequest:
    """Check every part and refuse what could smuggle a second request or another host."""
    if method.upper() not in METHODS:
        raise _invalid("The HTTP method is not one that can be sent.")
    if content is not None and json is not None:
        raise _invalid("A request has either content or json, not both.")
    fields = [_checked_header(name, value) for name, value in (headers or {}).items()]
    if json is not None:
        content = _encoded(json)
        if not any(name.lower() == "content-type" for name, _ in fields):
            fields.append(("Content-Type", "application/json"))
    return OutgoingRequest(method.upper(), parse_target(url), tuple(fields), content)


def redirect_location(answer: Response) -> str | None:
    """Where a redirect points, or None for any other answer."""
    return answer.header("location") if answer.status in _REDIRECTS else None


def redirected(request: OutgoingRequest, status: int, location: str) -> OutgoingRequest:
    """The next request of a followed redirect, stripped of what its new host must not get."""
    target = join_target(request.target, location)
    if request.target.scheme == "https" and target.scheme != "https":
        raise redirect_refused(request, "redirects from https to plain http")
    crosses = target.origin != request.target.origin
    if request.method in _SAFE_METHODS:
        following = replace(request, target=target)
    elif status == 303:
        following = _as_get(request, target)
    elif status in {307, 308} and not crosses:
        following = replace(request, target=target)
    else:
        raise redirect_refused(request, "redirects a request that changes something")
    return _for_a_stranger(following) if crosses else following


def redirect_refused(request: OutgoingRequest, what: str) -> ContextOSError:
    host = request.target.host
    message = f"{host} {what}; this is not followed."
    return failure("egress.redirect_refused", message, host=host)


def _as_get(request: OutgoingRequest, target: Target) -> OutgoingRequest:
    kept = tuple(item for item in request.headers if item[0].lower() not in _HEADERS_OF_A_BODY)
    return OutgoingRequest("GET", target, kept)


def _for_a_stranger(request: OutgoingRequest) -> OutgoingRequest:
    kept = tuple(item for item in request.headers if item[0].lower() in _HEADERS_FOR_STRANGERS)
    return replace(request, headers=kept, content=None)


def _checked_header(name: str, value: str) -> tuple[str, str]:
    if not _TOKEN.fullmatch(name):
        raise _invalid("A header name holds characters that are not allowed.")
    if name.lower() in _RESERVED_HEADERS:
        raise _invalid(f"The header {name} is set by the network door alone.", header=name)
    if not _FIELD_VALUE.fullmatch(value):
        raise _invalid(f"The value of header {name} holds a control character.", header=name)
    return name, value


def _encoded(value: Any) -> bytes:
    try:
        text = json_format.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        raise _invalid("The body can't be written as JSON.") from None
    return text.encode()


def _invalid(message: str, **data: object) -> ContextOSError:
    return failure("egress.request_invalid", message, **data)
