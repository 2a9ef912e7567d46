"""The client every caller uses: one request in, one whole answer or one coded error out."""

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import httpcore

from contextos.core.errors import ContextOSError
from contextos.net.backend import tls_failure
from contextos.net.body import read_body
from contextos.net.exchange import Exchange, under_way
from contextos.net.failures import failure
from contextos.net.messages import (
    OutgoingRequest,
    Response,
    build_request,
    redirect_location,
    redirect_refused,
    redirected,
)
from contextos.net.pools import PoolKey, registry
from contextos.net.proxy import parse_proxy
from contextos.net.resolve import Resolver, admitted_addresses
from contextos.net.rules import EgressPolicy, EgressRule
from contextos.net.tls import require_verification
from contextos.net.watching import followed

DEFAULT_MAX_BYTES = 10 * 1024 * 1024
DEFAULT_DEADLINE = 30.0
_BODILESS = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds a single step may take; the deadline bounds all of them together."""

    connect: float = 5.0
    read: float = 30.0
    write: float = 30.0
    pool: float = 5.0

    def within(self, seconds: float) -> dict[str, float]:
        steps = {"connect": self.connect, "read": self.read, "write": self.write, "pool": self.pool}
        return {step: min(limit, seconds) for step, limit in steps.items()}


class OutboundClient:
    """A thread-safe, fork-safe handle. It holds no socket: those live in the process's pools."""

    def __init__(
        self, key: PoolKey, *, timeouts: Timeouts, max_bytes: int, deadline: float
    ) -> None:
        self._key = key
        self._policy = EgressPolicy(key.rule)
        self._timeouts = timeouts
        self._max_bytes = max_bytes
        self._deadline = deadline

    @property
    def rule(self) -> EgressRule:
        return self._key.rule

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        json: Any = None,
        deadline: float | None = None,
        follow: int = 0,
    ) -> Response:
        """Send one request; follow at most `follow` redirects, each judged like the first.

        `deadline` is in seconds from now and covers everything. Every failure is a ContextOSError
        whose data says `request_sent`: False means that the host has not seen the request.
        """
        started = time.monotonic()
        exchange = Exchange(expires_at=started + (self._deadline if deadline is None else deadline))
        try:
            outgoing = build_request(method, url, headers=headers, content=content, json=json)
            with followed(outgoing.method, outgoing.target) as watch, under_way(exchange):
                if watch is not None:
                    outgoing = outgoing.accompanied(watch.headers)
                answer = self._send_and_follow(exchange, outgoing, follow)
                if watch is not None:
                    watch.answered(answer.status)
        except ContextOSError as error:
            error.data = MappingProxyType({**error.data, "request_sent": exchange.request_sent})
            raise
        return replace(answer, elapsed_ms=round((time.monotonic() - started) * 1000))

    def _send_and_follow(
        self, exchange: Exchange, outgoing: OutgoingRequest, follow: int
    ) -> Response:
        for _ in range(follow):
            answer = self._send(exchange, outgoing)
            location = redirect_location(answer)
            if location is None:
                return answer
            outgoing = redirected(outgoing, answer.status, location)
        answer = self._send(exchange, outgoing)
        if redirect_location(answer) is not None:
            raise redirect_refused(outgoing, "answers with a redirect")
        return answer

    def _send(self, exchange: Exchange, outgoing: OutgoingRequest) -> Response:
        exchange.goes_to(outgoing.target)
        self._policy.admit_target(outgoing.target)
        if self._key.proxy is not None:
            self._judge_before_proxy(exchange, outgoing)
        with (
            registry().lease(self._key) as pool,
            _coded_failures(exchange),
            self._stream(pool, exchange, outgoing) as raw,
        ):
            return self._read(raw, outgoing)

    def _stream(
        self, pool: httpcore.ConnectionPool, exchange: Exchange, outgoing: OutgoingRequest
    ) -> Any:
        target = outgoing.target
        return pool.stream(
            outgoing.method,
            httpcore.URL(
                scheme=target.scheme, host=target.host, port=target.port, target=target.path
            ),
            headers=_latin(outgoing.wire_headers()),
            content=outgoing.content,
            extensions={"timeout": self._timeouts.within(exchange.remaining())},
        )

    def _read(self, raw: httpcore.Response, outgoing: OutgoingRequest) -> Response:
        answer = Response(
            status=raw.status,
            headers=_decoded_headers(raw),
            content=b"",
            host=outgoing.target.host,
            peer_ip=raw.extensions["network_stream"].get_extra_info("server_addr")[0],
            via_proxy=self._key.proxy is not None,
        )
        if redirect_location(answer) is not None:
            return answer
        if outgoing.method == "HEAD" or raw.status in _BODILESS:
            raw.read()  # nothing comes, but only a finished answer frees its connection
            return answer
        body = read_body(raw.iter_stream(), answer=answer, max_bytes=self._max_bytes)
        return replace(answer, content=body)

    def _judge_before_proxy(self, exchange: Exchange, outgoing: OutgoingRequest) -> None:
        target = outgoing.target
        if ":" in target.host:
            message = "An IPv6 address can't be called through the egress proxy; use a name."
            raise failure("egress.url_invalid", message, host=target.host)
        admitted_addresses(
            self._policy,
            registry().resolver_for(self._key),
            host=target.host,
            port=target.port,
            timeout=min(self._timeouts.connect, exchange.remaining()),
        )


def open_client(
    rule: EgressRule,
    *,
    timeouts: Timeouts | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    deadline: float = DEFAULT_DEADLINE,
    proxy: str | None = None,
    tls: ssl.SSLContext | None = None,
    resolver: Resolver | None = None,
) -> OutboundClient:
    """A client for one rule. Cheap: clients of equal rule, proxy, TLS and resolver share sockets.

    `proxy` is the text of CONTEXTOS_EGRESS_PROXY; `tls` comes from `build_tls_context` and should
    be kept by the caller, since connections are shared per context object.
    """
    if tls is not None:
        require_verification(tls)
    key = PoolKey(rule, parse_proxy(proxy), tls, resolver)
    return OutboundClient(
        key, timeouts=timeouts or Timeouts(), max_bytes=max_bytes, deadline=deadline
    )


@contextmanager
def _coded_failures(exchange: Exchange) -> Iterator[None]:
    """Give what httpcore raises its code. Causes stay attached; messages name the host alone."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise _timed_out(exchange, error) from error
    except httpcore.ProxyError as error:
        message = f"The egress proxy refused the way to {exchange.host}."
        raise failure("egress.proxy", message, host=exchange.host) from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise _broken_off(exchange, error) from error


def _timed_out(exchange: Exchange, error: httpcore.TimeoutException) -> ContextOSError:
    if exchange.has_expired():
        return exchange.deadline_passed()
    phase = type(error).__name__.removesuffix("Timeout").lower()
    message = f"{exchange.host} did not answer in time ({phase})."
    return failure("egress.deadline", message, host=exchange.host, phase=phase)


def _broken_off(exchange: Exchange, error: Exception) -> ContextOSError:
    if isinstance(error.__cause__, ssl.SSLError):
        return tls_failure(exchange.host, error)
    message = f"{exchange.host} broke the HTTP protocol or closed the connection early."
    return failure("egress.protocol", message, host=exchange.host)


def _decoded_headers(raw: httpcore.Response) -> tuple[tuple[str, str], ...]:
    return tuple((k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in raw.headers)


def _latin(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
