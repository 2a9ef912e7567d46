"""HTTP with nothing but the standard library: one request in, one answer out, or Unreachable."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from .errors import Unreachable
from .reading import Json, Misshapen, parse_object

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024
_IDLE_KEPT = 4


@dataclass(frozen=True, slots=True)
class Request:
    """One request; its bytes are made once, so that a repetition can't differ from the first."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    repeatable: bool = False  # may be sent again without asking what became of the first
    patience: float = 0.0  # seconds the gateway was asked to wait before it answers


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object with the status and the headers that came with it."""

    status: int
    body: Json
    traceparent: str | None
    retry_after: float | None


def json_body(document: Json) -> bytes:
    """Strict JSON; NaN and infinity raise ValueError here instead of being refused there."""
    return json.dumps(document, allow_nan=False).encode("ascii")


class Wire:
    """The connections to one gateway. Threads may share it; each request has its own connection."""

    def __init__(self, base_url: str, *, timeout: float) -> None:
        self._target = _checked(base_url)
        self._timeout = timeout
        self._prefix = self._target.path.rstrip("/")
        secure = self._target.scheme == "https"
        self._tls = ssl.create_default_context() if secure else None
        self._idle: list[http.client.HTTPConnection] = []

    def send(self, request: Request) -> Answer:
        """The answer, whatever its status; Unreachable when there is none to be understood."""
        connection, is_fresh = self._connection(request)
        try:
            return self._exchange(connection, request)
        except (OSError, http.client.HTTPException) as fault:
            connection.close()
            if not is_fresh and isinstance(fault, ConnectionError):
                # A connection that idled may have been closed since; a new one has to show.
                self.close()
                return self.send(request)
            raise Unreachable(f"{self._origin} gave no answer: {_said(fault)}") from fault
        except Misshapen as fault:
            connection.close()
            raise Unreachable(
                f"{self._origin} gave an answer that is no answer: {fault}"
            ) from fault

    def close(self) -> None:
        """Close the connections kept for later requests."""
        while self._idle:
            self._idle.pop().close()

    @property
    def _origin(self) -> str:
        return f"{self._target.scheme}://{self._target.netloc}"

    def _connection(self, request: Request) -> tuple[http.client.HTTPConnection, bool]:
        """A kept connection, but only for what may be repeated; else a new one."""
        if request.repeatable and self._idle:
            return self._idle.pop(), False
        host, port = self._target.hostname or "", self._target.port
        if self._tls is not None:
            secure = http.client.HTTPSConnection(host, port, context=self._tls)
            return secure, True
        return http.client.HTTPConnection(host, port), True

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Answer:
        seconds = self._timeout + request.patience
        until = time.monotonic() + seconds
        connection.timeout = seconds
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        connection.request(
            request.method, self._prefix + request.path, request.body, dict(request.headers)
        )
        response = connection.getresponse()
        content = _read(response, until)
        answer = _answer(response, content)
        if not response.will_close and len(self._idle) < _IDLE_KEPT:
            self._idle.append(connection)
        else:
            connection.close()
        return answer


def _checked(base_url: str) -> SplitResult:
    target = urlsplit(base_url)
    if target.scheme not in {"http", "https"} or not target.hostname:
        raise ValueError(f"base_url is not an http(s) address: {base_url!r}")
    if target.username or target.query or target.fragment:
        raise ValueError("base_url holds more than scheme, host, port and path")
    return target


def _read(response: http.client.HTTPResponse, until: float) -> bytes:
    """The body in pieces, so that neither a slow nor an endless one holds the caller."""
    content = bytearray()
    left = response.length  # None: chunked, or until the connection closes
    while left is None or left > 0:
        piece = response.read1(_CHUNK if left is None else min(left, _CHUNK))
        if not piece:
            break
        content += piece
        left = None if left is None else left - len(piece)
        _check_progress(len(content), until)
    if left:
        raise http.client.IncompleteRead(bytes(content), left)
    response.close()
    return bytes(content)


def _check_progress(size: int, until: float) -> None:
    if size > MAX_ANSWER_BYTES:
        raise Misshapen(f"it is larger than {MAX_ANSWER_BYTES} bytes")
    if time.monotonic() > until:
        raise TimeoutError("the answer took too long")


def _answer(response: http.client.HTTPResponse, content: bytes) -> Answer:
    media_type = response.headers.get_content_type()
    if media_type not in {"application/json", "application/problem+json"}:
        raise Misshapen(f"HTTP {response.status} with {media_type}; is base_url right?")
    return Answer(
        status=response.status,
        body=parse_object(content),
        traceparent=response.headers.get("traceparent"),
        retry_after=_seconds(response.headers.get("Retry-After")),
    )


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isascii() and header.isdigit() else None


def _said(fault: Exception) -> str:
    return str(fault) or type(fault).__name__
