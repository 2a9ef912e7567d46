"""Dials for httpcore: host judged, every address judged, then the judged address and no other.

Sits below TLS and HTTP, so SNI, certificate check and Host header keep the name while the socket
goes to the address that passed. DNS is asked once per connection; a second, different answer
(rebinding) is never seen.
"""

import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore

from contextos.core.errors import ContextOSError
from contextos.net.addresses import Address
from contextos.net.exchange import check_deadline, clamped, mark_sent
from contextos.net.failures import failure
from contextos.net.resolve import Resolver, admitted_addresses
from contextos.net.rules import EgressPolicy

SocketOptions = Iterable[Any] | None
_DEFAULT_CONNECT_TIMEOUT = 5.0


class GuardedStream(httpcore.NetworkStream):
    """A socket that answers to the deadline of the exchange under way."""

    def __init__(self, inner: httpcore.NetworkStream, peer: tuple[str, int], host: str) -> None:
        self._inner = inner
        self._peer = peer
        self._host = host
        self._over_tls = inner.get_extra_info("ssl_object") is not None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _timeouts_as_deadline():
            return self._inner.read(max_bytes, clamped(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        mark_sent(over_tls=self._over_tls)
        connection = self._inner.get_extra_info("socket")
        unsent = memoryview(buffer)
        with _timeouts_as_deadline():
            # The inner stream restarts its timeout after each partial send; a host that reads one
            # segment at a time could hold us for ever.
            while unsent:
                unsent = unsent[_send_some(connection, unsent, clamped(timeout)) :]

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        try:
            with _timeouts_as_deadline():
                secured = self._inner.start_tls(ssl_context, server_hostname, clamped(timeout))
        except httpcore.ConnectError as error:
            raise tls_failure(self._host, error) from error
        except BaseException:
            self.close()
            raise
        return GuardedStream(secured, self._peer, self._host)

    def get_extra_info(self, info: str) -> Any:
        # Asked of the socket, the peer of a connection that has just been reset is an error.
        return self._peer if info == "server_addr" else self._inner.get_extra_info(info)


class GuardedBackend(httpcore.NetworkBackend):
    """The only place of the synchronous door where a connection begins."""

    def __init__(self, policy: EgressPolicy, resolver: Resolver) -> None:
        self._policy = policy
        self._resolver = resolver
        self._dialler = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: SocketOptions = None,
    ) -> httpcore.NetworkStream:
        budget = Budget(clamped(timeout))
        addresses = admit(self._policy, self._resolver, host, port, budget)
        failed: Exception | None = None
        for position, address in enumerate(addresses):
            share = budget.left() / (len(addresses) - position)
            try:
                inner = self._dialler.connect_tcp(
                    str(address), port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
            else:
                return GuardedStream(inner, (str(address), port), host)
        check_deadline()
        raise not_connected(host, port, failed)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: SocketOptions = None
    ) -> httpcore.NetworkStream:
        raise no_unix_sockets()


class Budget:
    """The connect timeout, shared by the lookup and by every address tried."""

    def __init__(self, timeout: float | None) -> None:
        self._ends = time.monotonic() + (_DEFAULT_CONNECT_TIMEOUT if timeout is None else timeout)

    def left(self) -> float:
        # Never zero: a socket timeout of 0 means "do not wait", and would report success later.
        return max(self._ends - time.monotonic(), 0.001)


def admit(
    policy: EgressPolicy, resolver: Resolver, host: str, port: int, budget: Budget
) -> tuple[Address, ...]:
    """The host's addresses, each judged; what may be dialled for it and nothing else."""
    policy.admit_host(host, port)
    return admitted_addresses(policy, resolver, host=host, port=port, timeout=budget.left())


@contextmanager
def _timeouts_as_deadline() -> Iterator[None]:
    try:
        yield
    except httpcore.TimeoutException:
        check_deadline()
        raise


def _send_some(connection: Any, unsent: memoryview, timeout: float | None) -> int:
    try:
        connection.settimeout(timeout)
        return int(connection.send(unsent))
    except TimeoutError as error:
        raise httpcore.WriteTimeout(str(error)) from error
    except OSError as error:
        raise httpcore.WriteError(str(error)) from error


def tls_failure(host: str, error: BaseException) -> ContextOSError:
    """What TLS said, in its own short words; certificates hold no secrets."""
    cause = error.__cause__
    verify_message = getattr(cause, "verify_message", None)
    reason = verify_message or getattr(cause, "reason", None) or "the handshake was cut off"
    message = f"No trusted TLS connection to {host}: {reason}."
    return failure("egress.tls", message, host=host)


def not_connected(host: str, port: int, failed: Exception | None) -> ContextOSError:
    if failed is not None and type(failed).__name__ == "ConnectTimeout":  # of either httpcore
        message = f"{host} port {port} did not accept a connection in time."
        return failure("egress.deadline", message, host=host, phase="connect")
    reason = getattr(failed.__cause__ if failed else None, "strerror", None) or "no connection"
    message = f"{host} port {port} can't be reached: {reason}."
    return failure("egress.connect_failed", message, host=host, port=port)


def no_unix_sockets() -> ContextOSError:
    return failure("egress.url_invalid", "Unix sockets are not reached through the network door.")
