"""Verification keys in memory: fresh for a while, reloaded for a new kid, failures remembered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from joserfc.jwk import KeySet

from contextos.core.errors import ContextOSError


@dataclass(frozen=True, slots=True)
class CacheTimes:
    """Seconds. `retry_after` bounds how often a failing or kid-less source is asked again."""

    fresh_for: float
    retry_after: float
    stale_for: float = 0.0


class KeyCache:
    """Keys behind a load function; one thread loads while those who need its answer wait."""

    def __init__(
        self,
        load: Callable[[], KeySet],
        times: CacheTimes,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._times = times
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._loaded_at = float("-inf")
        self._tried_at = float("-inf")
        self._failure: ContextOSError | None = None

    def keys_for(self, kid: str | None) -> KeySet:
        """The keys, reloaded first if they are old or lack the kid and the source may be asked."""
        known = self._keys
        if known is not None and _holds(known, kid) and not self._is_old(self._clock()):
            return known  # a stranger who asks for a kid of their own making holds nobody else up
        with self._lock:
            if self._is_due(kid):
                self._reload()
            if self._keys is None or self._is_too_stale():
                raise self._failure or RuntimeError("no keys were ever loaded")
            return self._keys

    def _is_due(self, kid: str | None) -> bool:
        now = self._clock()
        if now - self._tried_at < self._times.retry_after:
            return False
        return self._is_old(now) or not _holds(self._keys, kid)

    def _is_old(self, now: float) -> bool:
        return now - self._loaded_at >= self._times.fresh_for

    def _is_too_stale(self) -> bool:
        age = self._clock() - self._loaded_at
        return self._failure is not None and age >= self._times.fresh_for + self._times.stale_for

    def _reload(self) -> None:
        self._tried_at = self._clock()
        try:
            self._keys, self._loaded_at, self._failure = self._load(), self._clock(), None
        except ContextOSError as failure:
            self._failure = failure


def _holds(keys: KeySet | None, kid: str | None) -> bool:
    return keys is not None and any(key.kid == kid for key in keys)
