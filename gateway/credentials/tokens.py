"""Tokens in this process: kept until shortly before they end, fetched once however many wait."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

MOST_KEPT = 2000
LONGEST_KEPT = 3600.0
_LEAST_MARGIN, _MOST_MARGIN = 1.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """A token and what it is good for; `ends_at` is on the monotonic clock, which nobody sets."""

    value: str = field(repr=False)
    scopes: tuple[str, ...]
    ends_at: float

    @property
    def is_fresh(self) -> bool:
        """Whether it is certain to last for the request that it is taken for."""
        return time.monotonic() < self.ends_at


def fresh_until(lifetime: float, *, asked_at: float) -> float:
    """Counted from when it was asked for, less a margin, so that no wall clock matters."""
    margin = min(max(lifetime / 10, _LEAST_MARGIN), _MOST_MARGIN)
    return asked_at + min(lifetime, LONGEST_KEPT) - margin


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A token may be shared only between calls for which all of this is equal."""

    credential_id: str
    version: int
    resource: str | None
    audience: str | None
    scopes: tuple[str, ...]
    subject: tuple[str, ...]  # on whose behalf; empty for the installation's own client
    consent_id: str = ""


class TokenCache:
    """Bounded, least recently used out first; one fetch per key at a time, its failure shared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[TokenKey, AccessToken] = OrderedDict()
        self._under_way: dict[TokenKey, Future[AccessToken]] = {}

    def get(
        self, key: TokenKey, fetch: Callable[[], AccessToken], *, patience: float
    ) -> AccessToken:
        """A token that is fresh, fetched if need be; whoever waits for another's fetch is patient
        for so many seconds (then TimeoutError)."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.is_fresh:
                self._kept.move_to_end(key)
                return kept
            waiting = self._under_way.get(key)
            mine: Future[AccessToken] = Future()
            if waiting is None:
                self._under_way[key] = mine
        if waiting is not None:
            return waiting.result(timeout=patience)
        return self._fetch(key, fetch, mine)

    def _fetch(
        self, key: TokenKey, fetch: Callable[[], AccessToken], mine: Future[AccessToken]
    ) -> AccessToken:
        try:
            token = fetch()
        except BaseException as fault:
            self._settle(key, None)
            mine.set_exception(fault)
            raise
        self._settle(key, token)
        mine.set_result(token)
        return token

    def _settle(self, key: TokenKey, token: AccessToken | None) -> None:
        with self._lock:
            self._under_way.pop(key, None)
            if token is not None:
                self._kept[key] = token
                self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def forget(self, key: TokenKey, value: str) -> None:
        """Drop a token that was refused, unless somebody has put a newer one there."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.value == value:
                del self._kept[key]

    def clear(self) -> None:
        """Drop everything, between tests."""
        with self._lock:
            self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)


_cache = TokenCache()


def token_cache() -> TokenCache:
    """The tokens of this process."""
    return _cache


def _start_afresh_after_fork() -> None:
    # A lock may be held, and a fetch awaited, by threads that do not exist in the child.
    global _cache
    _cache = TokenCache()


os.register_at_fork(after_in_child=_start_afresh_after_fork)
