"""Finds the addresses of a host within a time limit and lets them through the policy."""

import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from typing import Protocol

from contextos.core.errors import ContextOSError
from contextos.net.addresses import Address, literal_address
from contextos.net.failures import failure
from contextos.net.rules import EgressPolicy


class Resolver(Protocol):
    """Answers with every address of a host, in the order they should be tried."""

    def resolve(self, host: str, port: int, timeout: float) -> Sequence[Address]: ...


class SystemResolver:
    """getaddrinfo, which can't be interrupted, on a bounded number of threads.

    A lookup that hangs keeps its thread until the system gives up; the bound keeps a dead name
    server from eating the process. Threads are daemons so that a hanging lookup never holds up
    shutdown, which a ThreadPoolExecutor would.
    """

    def __init__(self, max_lookups: int = 16) -> None:
        self._slots = threading.BoundedSemaphore(max_lookups)

    def resolve(self, host: str, port: int, timeout: float) -> Sequence[Address]:
        gives_up_at = time.monotonic() + timeout
        if not self._slots.acquire(timeout=timeout):
            raise _timed_out(host)
        answer: Future[list[Address]] = Future()
        worker = threading.Thread(
            target=self._look_up, args=(host, port, answer), name="egress-dns", daemon=True
        )
        try:
            worker.start()
        except RuntimeError:  # no thread to be had
            self._slots.release()
            raise _unresolvable(host) from None
        try:
            return answer.result(gives_up_at - time.monotonic())
        except TimeoutError:
            raise _timed_out(host) from None
        except OSError:
            raise _unresolvable(host) from None

    def _look_up(self, host: str, port: int, answer: "Future[list[Address]]") -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.set_result([ip_address(row[4][0]) for row in found])
        except (OSError, ValueError) as error:
            # A name getaddrinfo can't encode is a name without an address.
            answer.set_exception(error if isinstance(error, OSError) else OSError(str(error)))
        finally:
            self._slots.release()


def admitted_addresses(
    policy: EgressPolicy, resolver: Resolver, *, host: str, port: int, timeout: float
) -> tuple[Address, ...]:
    """Every address of the host, all of them judged. The caller dials these and never the name."""
    literal = literal_address(host)
    found = [literal] if literal is not None else resolver.resolve(host, port, timeout)
    addresses = tuple(dict.fromkeys(found))
    if not addresses:
        raise _unresolvable(host)
    policy.admit_addresses(host, addresses)
    return addresses


def _unresolvable(host: str) -> ContextOSError:
    return failure("egress.unresolvable", f"{host} has no address.", host=host)


def _timed_out(host: str) -> ContextOSError:
    message = f"The address of {host} was not found in time."
    return failure("egress.deadline", message, host=host, phase="resolve")
