"""The asynchronous twin of the dialler: same judgement, same pinned address, for httpcore2."""

import ssl
from collections.abc import Iterable
from typing import Any

import anyio.to_thread
import httpcore2

from contextos.net.backend import Budget, admit, no_unix_sockets, not_connected, tls_failure
from contextos.net.exchange import mark_sent
from contextos.net.resolve import Resolver
from contextos.net.rules import EgressPolicy

SocketOptions = Iterable[Any] | None


class AsyncGuardedStream(httpcore2.AsyncNetworkStream):
    """A socket that tells the exchange under way when its request leaves."""

    def __init__(
        self, inner: httpcore2.AsyncNetworkStream, peer: tuple[str, int], host: str
    ) -> None:
        self._inner = inner
        self._peer = peer
        self._host = host
        self._over_tls = inner.get_extra_info("ssl_object") is not None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            mark_sent(over_tls=self._over_tls, peer_ip=self._peer[0])
            await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            secured = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        except httpcore2.ConnectError as error:
            raise tls_failure(self._host, error) from error
        return AsyncGuardedStream(secured, self._peer, self._host)

    def get_extra_info(self, info: str) -> Any:
        return self._peer if info == "server_addr" else self._inner.get_extra_info(info)


class AsyncGuardedBackend(httpcore2.AsyncNetworkBackend):
    """The only place of the asynchronous door where a connection begins.

    It sees host, port and address but no scheme: the door checks the URL first.
    """

    def __init__(self, policy: EgressPolicy, resolver: Resolver) -> None:
        self._policy = policy
        self._resolver = resolver
        self._dialler = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: SocketOptions = None,
    ) -> httpcore2.AsyncNetworkStream:
        budget = Budget(timeout)
        addresses = await anyio.to_thread.run_sync(
            admit, self._policy, self._resolver, host, port, budget, abandon_on_cancel=True
        )
        failed: Exception | None = None
        for position, address in enumerate(addresses):
            share = budget.left() / (len(addresses) - position)
            try:
                inner = await self._dialler.connect_tcp(
                    str(address), port, share, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
            else:
                return AsyncGuardedStream(inner, (str(address), port), host)
        raise not_connected(host, port, failed)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: SocketOptions = None
    ) -> httpcore2.AsyncNetworkStream:
        raise no_unix_sockets()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)
