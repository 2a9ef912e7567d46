"""One request's clock and memory, seen by the socket layer far below the call that made it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from contextos.core.errors import ContextOSError
from contextos.net.failures import failure
from contextos.net.targets import Target


@dataclass(slots=True)
class Exchange:
    """A wall-clock budget over DNS, connect, TLS, sending, headers, body and redirects together.

    Per-operation timeouts start anew with every byte a slow host drips; this one does not.
    `request_sent` tells the caller of a write whether the host may have seen it.
    """

    expires_at: float
    host: str = ""
    over_tls: bool = False
    request_sent: bool = False
    peer_ip: str = ""

    def goes_to(self, target: Target) -> None:
        """The next request of this exchange; a redirect moves on, the clock and memory stay."""
        self.host, self.over_tls = target.host, target.scheme == "https"

    def remaining(self) -> float:
        """Seconds left; raises when there are none."""
        left = self.expires_at - time.monotonic()
        if left <= 0:
            raise self.deadline_passed()
        return left

    def has_expired(self) -> bool:
        return time.monotonic() >= self.expires_at

    def deadline_passed(self) -> ContextOSError:
        message = f"{self.host} did not answer in full within the time allowed."
        return failure("egress.deadline", message, host=self.host, phase="total")

    def mark_sent(self, *, over_tls: bool) -> None:
        # Plain bytes of an https exchange are a CONNECT to the proxy, not yet our request.
        if over_tls or not self.over_tls:
            self.request_sent = True


_current: ContextVar[Exchange | None] = ContextVar("contextos_net_exchange", default=None)


@contextmanager
def under_way(exchange: Exchange) -> Iterator[Exchange]:
    """Make this exchange the one that sockets used on this thread answer to."""
    token = _current.set(exchange)
    try:
        yield exchange
    finally:
        _current.reset(token)


def clamped(timeout: float | None) -> float | None:
    """A socket timeout that does not outlive the exchange under way, if there is one."""
    exchange = _current.get()
    if exchange is None:
        return timeout
    left = exchange.remaining()
    return left if timeout is None else min(timeout, left)


def check_deadline() -> None:
    """Turn a socket timeout into the deadline error when the exchange's own time is up."""
    exchange = _current.get()
    if exchange is not None and exchange.has_expired():
        raise exchange.deadline_passed()


def mark_sent(*, over_tls: bool, peer_ip: str = "") -> None:
    exchange = _current.get()
    if exchange is not None:
        exchange.mark_sent(over_tls=over_tls)
        exchange.peer_ip = peer_ip
