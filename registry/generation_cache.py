"""Keeps what was built from one generation of a tenant's registry; another number builds anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class GenerationCache(Generic[K, T]):
    """One value a key, of the generation asked for last; the oldest keys are forgotten first."""

    def __init__(self, build: Callable[[K, int], T], *, limit: int) -> None:
        self._build = build
        self._limit = limit
        self._lock = threading.Lock()
        self._held: dict[K, tuple[int, T]] = {}
        self._builders: dict[K, threading.Lock] = {}

    def get(self, key: K, generation: int) -> T:
        """The value of exactly this generation; one thread builds it, the others wait."""
        held = self._held.get(key)
        if held is not None and held[0] == generation:
            return held[1]
        try:
            with self._builder(key):
                held = self._held.get(key)
                if held is None or held[0] != generation:
                    held = (generation, self._build(key, generation))
                    self._keep(key, held)
        finally:  # whoever waits holds the lock itself; later ones find the value or a new lock
            with self._lock:
                self._builders.pop(key, None)
        return held[1]

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: K) -> bool:
        return key in self._held

    def _builder(self, key: K) -> threading.Lock:
        with self._lock:
            return self._builders.setdefault(key, threading.Lock())

    def _keep(self, key: K, held: tuple[int, T]) -> None:
        with self._lock:
            self._held.pop(key, None)  # so that the newest stands last
            while len(self._held) >= self._limit:
                del self._held[next(iter(self._held))]
            self._held[key] = held
