"""Keeps connection pools alive for the life of the process: one per rule, proxy, TLS and resolver.

A pooled connection was admitted under exactly the rule that reuses it. The pools are httpcore's,
the engine below httpx: httpx.Client would add a shared cookie jar, proxies and netrc from the
environment, unbounded decompression and a log line with the full URL, each to be switched off.
HTTP/1.1 only, so that one connection serves one thread and its deadline at a time.
"""

import atexit
import logging
import os
import ssl
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpcore

from contextos.net.backend import GuardedBackend
from contextos.net.proxy import EgressProxy
from contextos.net.resolve import Resolver, SystemResolver
from contextos.net.rules import EgressPolicy, EgressRule
from contextos.net.tls import shared_tls_context

MAX_POOLS = 256
MAX_CONNECTIONS_PER_POOL = 64
MAX_IDLE_CONNECTIONS_PER_POOL = 16
IDLE_SECONDS = 30.0

# Its debug lines print whole header lists, tokens included.
logging.getLogger("httpcore").setLevel(logging.INFO)


@dataclass(frozen=True, slots=True)
class PoolKey:
    """What must be equal for two clients to share connections. None stands for the default."""

    rule: EgressRule
    proxy: EgressProxy | None = None
    tls: ssl.SSLContext | None = None
    resolver: Resolver | None = None


class _Entry:
    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self.pool = pool
        self.users = 0
        self.retired = False


class PoolRegistry:
    """Pools by key, least recently used out first; one that is in use closes when it is not."""

    def __init__(self, max_pools: int = MAX_POOLS) -> None:
        self._max_pools = max_pools
        self._lock = threading.Lock()
        self._entries: OrderedDict[PoolKey, _Entry] = OrderedDict()
        self._system_resolver = SystemResolver()

    def __len__(self) -> int:
        return len(self._entries)

    def resolver_for(self, key: PoolKey) -> Resolver:
        return key.resolver or self._system_resolver

    @contextmanager
    def lease(self, key: PoolKey) -> Iterator[httpcore.ConnectionPool]:
        """Use the pool of this key; it is not closed underneath the user."""
        with self._lock:
            entry = self._entry(key)
            entry.users += 1
            surplus = self._retire_surplus()
        self._close(surplus)
        try:
            yield entry.pool
        finally:
            with self._lock:
                entry.users -= 1
                finished = entry.retired and entry.users == 0
            if finished:
                entry.pool.close()

    def close(self) -> None:
        """Close all idle pools now and the busy ones as they finish."""
        with self._lock:
            idle = [idle for key in list(self._entries) for idle in self._retire(key)]
        self._close(idle)

    def _entry(self, key: PoolKey) -> _Entry:
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(self._open_pool(key))
        self._entries.move_to_end(key)
        return entry

    def _open_pool(self, key: PoolKey) -> httpcore.ConnectionPool:
        dialled = key.proxy.rule if key.proxy else key.rule
        return httpcore.ConnectionPool(
            ssl_context=key.tls or shared_tls_context(),
            proxy=key.proxy.for_pool() if key.proxy else None,
            max_connections=MAX_CONNECTIONS_PER_POOL,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS_PER_POOL,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=GuardedBackend(EgressPolicy(dialled), self.resolver_for(key)),
        )

    def _retire_surplus(self) -> list[_Entry]:
        idle: list[_Entry] = []
        while len(self._entries) > self._max_pools:
            idle += self._retire(next(iter(self._entries)))
        return idle

    def _retire(self, key: PoolKey) -> list[_Entry]:
        entry = self._entries.pop(key)
        entry.retired = True
        return [] if entry.users else [entry]

    def _close(self, entries: list[_Entry]) -> None:
        for entry in entries:
            entry.pool.close()


_registry = PoolRegistry()


def registry() -> PoolRegistry:
    """The pools of this process."""
    return _registry


def close_pools() -> None:
    """Close every pooled connection, on shutdown or between tests; the next request reopens."""
    _registry.close()


def _start_afresh_after_fork() -> None:
    # Sockets, locks and lookup threads belong to the parent. They are dropped, not closed: a lock
    # may be held by a thread that does not exist here.
    global _registry
    _registry = PoolRegistry()


os.register_at_fork(after_in_child=_start_afresh_after_fork)
atexit.register(close_pools)
