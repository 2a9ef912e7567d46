"""The asynchronous door: an httpx2 transport for libraries that bring their own protocol.

What such a library asks for is judged, pinned, timed and counted here like everything else. Whole
bodies are read before the library sees them, so that a bad one fails its own request alone; only
event streams pass through, still counted and still under the clock. Redirects and compression
are refused, and nothing is taken from the environment.
"""

import logging
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress

import anyio
import anyio.to_thread
import httpcore2
import httpx2

from contextos.core.errors import ContextOSError
from contextos.net.async_backend import AsyncGuardedBackend
from contextos.net.backend import tls_failure
from contextos.net.exchange import under_way
from contextos.net.failures import failure
from contextos.net.manners import AsyncExchange, LocalAnswer, Manners
from contextos.net.proxy import EgressProxy, parse_proxy
from contextos.net.resolve import Resolver, SystemResolver, admitted_addresses
from contextos.net.rules import EgressPolicy, EgressRule
from contextos.net.targets import Target, parse_target
from contextos.net.tls import require_verification, shared_tls_context

MAX_CONNECTIONS = 64
MAX_IDLE_CONNECTIONS = 16
IDLE_SECONDS = 4.0  # common servers hang up after 5; a write that meets that is in doubt
CONNECT_SECONDS = 5.0
_TAIL_SECONDS = 0.2
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_EVENT_STREAM = "text/event-stream"
_OF_THE_WIRE = frozenset({b"content-length", b"transfer-encoding", b"connection", b"keep-alive"})

# Below this level they print URLs, whole header lists and message bodies.
logging.getLogger("httpx2").setLevel(logging.WARNING)
logging.getLogger("httpcore2").setLevel(logging.INFO)


class AsyncDoor(httpx2.AsyncBaseTransport):
    """One rule's connections. Belongs to one event loop and is closed with its client."""

    def __init__(
        self,
        rule: EgressRule,
        manners: Manners,
        *,
        proxy: EgressProxy | None = None,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._policy = EgressPolicy(rule)
        self._manners = manners
        self._proxy = proxy
        self._resolver = resolver or SystemResolver()
        dialled = EgressPolicy(proxy.rule) if proxy else self._policy
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or shared_tls_context(),
            proxy=_for_pool(proxy) if proxy else None,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=AsyncGuardedBackend(dialled, self._resolver),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content = await request.aread()
        decided = self._manners.departs(request.method, request.headers, content)
        if isinstance(decided, LocalAnswer):
            return _response(decided)
        exchange = decided.exchange
        try:
            with under_way(exchange), _coded_failures(exchange):
                return await self._send(exchange, request, content, decided.headers)
        except ContextOSError as fault:
            exchange.fault = fault
            answer = self._manners.stands_in(content, fault)
            if answer is None:
                raise
            return _response(answer)

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _send(
        self,
        exchange: AsyncExchange,
        request: httpx2.Request,
        content: bytes,
        extra: Mapping[str, str],
    ) -> httpx2.Response:
        target = parse_target(str(request.url))
        exchange.goes_to(target)
        self._policy.admit_target(target)
        with anyio.fail_after(exchange.remaining()):
            await self._judge_before_proxy(target)
            raw = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    httpcore2.URL(
                        scheme=target.scheme, host=target.host, port=target.port, target=target.path
                    ),
                    headers=_wire_headers(request, target, {**exchange.headers, **extra}),
                    content=content,
                    extensions={"timeout": _timeouts(exchange.remaining())},
                )
            )
            try:
                return await self._received(exchange, raw)
            except BaseException:
                await raw.aclose()
                raise

    async def _received(self, exchange: AsyncExchange, raw: httpcore2.Response) -> httpx2.Response:
        exchange.status = raw.status
        headers = httpx2.Headers([h for h in raw.headers if h[0].lower() not in _OF_THE_WIRE])
        exchange.retry_after = headers.get("retry-after", "")
        exchange.challenge = headers.get("www-authenticate", "")
        _refuse_unwanted(exchange, raw, headers)
        counted = _counted(exchange, raw)
        if headers.get("content-type", "").lower().startswith(_EVENT_STREAM):
            body = _EventBody(exchange, raw, counted)
            return httpx2.Response(raw.status, headers=headers, stream=body)
        content = b"".join([chunk async for chunk in counted])
        await raw.aclose()
        return httpx2.Response(raw.status, headers=headers, content=content)

    async def _judge_before_proxy(self, target: Target) -> None:
        if self._proxy is None:
            return
        if ":" in target.host:
            message = "An IPv6 address can't be called through the egress proxy; use a name."
            raise failure("egress.url_invalid", message, host=target.host)

        def judge() -> None:
            admitted_addresses(
                self._policy,
                self._resolver,
                host=target.host,
                port=target.port,
                timeout=CONNECT_SECONDS,
            )

        await anyio.to_thread.run_sync(judge, abandon_on_cancel=True)


class _EventBody(httpx2.AsyncByteStream):
    """An event stream that ends with the exchange's time or size, whoever still listens."""

    def __init__(
        self, exchange: AsyncExchange, raw: httpcore2.Response, counted: AsyncIterator[bytes]
    ) -> None:
        self._exchange = exchange
        self._raw = raw
        self._counted = counted

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                with _coded_failures(self._exchange), anyio.fail_after(self._exchange.remaining()):
                    chunk = await anext(self._counted, None)
            except ContextOSError as fault:
                self._exchange.fault = fault
                raise httpx2.ReadError(fault.message) from fault
            if chunk is None:
                return
            yield chunk

    async def aclose(self) -> None:
        # Whoever has its event stops reading; only a stream read to its end frees its connection.
        with suppress(Exception), anyio.move_on_after(_TAIL_SECONDS):
            while await anext(self._counted, None) is not None:
                pass
        await self._raw.aclose()


def open_async_client(
    rule: EgressRule,
    manners: Manners,
    *,
    proxy: str | None = None,
    tls: ssl.SSLContext | None = None,
    resolver: Resolver | None = None,
) -> httpx2.AsyncClient:
    """A client for one rule, to be kept for as long as its sessions live."""
    if tls is not None:
        require_verification(tls)
    door = AsyncDoor(rule, manners, proxy=parse_proxy(proxy), tls=tls, resolver=resolver)
    return httpx2.AsyncClient(
        transport=door,
        trust_env=False,
        follow_redirects=False,
        timeout=None,  # every request runs under its exchange's clock
        headers={"Accept-Encoding": "identity", "User-Agent": "ContextOS"},
    )


async def _counted(exchange: AsyncExchange, raw: httpcore2.Response) -> AsyncIterator[bytes]:
    total = 0
    async for chunk in raw.aiter_stream():
        total += len(chunk)
        if total > exchange.max_bytes:
            raise _too_large(exchange)
        yield chunk


def _refuse_unwanted(
    exchange: AsyncExchange, raw: httpcore2.Response, headers: httpx2.Headers
) -> None:
    if raw.status in _REDIRECTS and "location" in headers:
        message = f"{exchange.host} answers with a redirect; this is not followed."
        raise failure("egress.redirect_refused", message, host=exchange.host)
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        message = f"{exchange.host} answered in a compression that was not asked for."
        raise failure("egress.protocol", message, host=exchange.host)
    announced = next((v for k, v in raw.headers if k.lower() == b"content-length"), b"")
    if announced.isdigit() and int(announced) > exchange.max_bytes:
        raise _too_large(exchange)


def _too_large(exchange: AsyncExchange) -> ContextOSError:
    message = f"{exchange.host} answered with more than the {exchange.max_bytes} bytes allowed."
    return failure("egress.too_large", message, host=exchange.host, max_bytes=exchange.max_bytes)


@contextmanager
def _coded_failures(exchange: AsyncExchange) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as error:
        raise exchange.deadline_passed() from error
    except httpcore2.ProxyError as error:
        message = f"The egress proxy refused the way to {exchange.host}."
        raise failure("egress.proxy", message, host=exchange.host) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        if isinstance(error.__cause__, ssl.SSLError):
            raise tls_failure(exchange.host, error) from error
        message = f"{exchange.host} broke the HTTP protocol or closed the connection early."
        raise failure("egress.protocol", message, host=exchange.host) from error


def _wire_headers(
    request: httpx2.Request, target: Target, extra: Mapping[str, str]
) -> list[tuple[bytes, bytes]]:
    ours = {
        name.lower().encode("latin-1"): value.encode("latin-1") for name, value in extra.items()
    }
    ours[b"host"] = target.authority.encode("ascii")
    kept = [(name, value) for name, value in request.headers.raw if name.lower() not in ours]
    return [*ours.items(), *kept]


def _timeouts(left: float) -> dict[str, float]:
    return {"connect": min(CONNECT_SECONDS, left), "read": left, "write": left, "pool": left}


def _for_pool(proxy: EgressProxy) -> httpcore2.Proxy:
    url = httpcore2.URL(scheme="http", host=proxy.host, port=proxy.port, target="/")
    if proxy.username is None:
        return httpcore2.Proxy(url)
    return httpcore2.Proxy(url, auth=(proxy.username, proxy.password or ""))


def _response(answer: LocalAnswer) -> httpx2.Response:
    return httpx2.Response(
        answer.status, headers={"content-type": answer.content_type}, content=answer.content
    )
