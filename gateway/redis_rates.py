"""Counts calls in Redis, for all processes; while Redis is away, the database counts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import redis
import structlog
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from gateway.rate_counters import Counter, Rate

log = structlog.get_logger(__name__)
TIMEOUT_SECONDS = 0.25
AWAY_SECONDS = 5.0  # so long nobody asks a Redis that failed; one slow answer is enough
_NAMESPACE = "contextos-rate"


class InRedis:
    """One round trip a call; a refusal makes a second one, to say when to come back."""

    def __init__(
        self, url: str, *, otherwise: Counter, clock: Callable[[], float] = time.monotonic
    ) -> None:
        options: dict[str, Any] = {
            "socket_timeout": TIMEOUT_SECONDS,
            "socket_connect_timeout": TIMEOUT_SECONDS,
            "retry": Retry(NoBackoff(), 0),
        }
        self._windows = MovingWindowRateLimiter(RedisStorage(url, **options))
        self._otherwise, self._clock = otherwise, clock
        self._away_until = 0.0

    def take(self, tenant_id: str, capability_id: str, rate: Rate) -> float | None:
        """See Counter."""
        if self._clock() < self._away_until:
            return self._otherwise.take(tenant_id, capability_id, rate)
        item = _item(rate)
        try:
            if self._windows.hit(item, tenant_id, capability_id):
                return None
            stats = self._windows.get_window_stats(item, tenant_id, capability_id)
        except redis.RedisError as fault:
            self._went_away(fault)
            return self._otherwise.take(tenant_id, capability_id, rate)
        return max(0.001, stats.reset_time - time.time())

    def used(self, tenant_id: str, capability_id: str, rate: Rate) -> int:
        """See Counter."""
        if self._clock() >= self._away_until:
            item = _item(rate)
            try:
                stats = self._windows.get_window_stats(item, tenant_id, capability_id)
                return rate.max - stats.remaining
            except redis.RedisError as fault:
                self._went_away(fault)
        return self._otherwise.used(tenant_id, capability_id, rate)

    def _went_away(self, fault: redis.RedisError) -> None:
        log.warning("rates are counted in the database", why=type(fault).__name__)
        self._away_until = self._clock() + AWAY_SECONDS


def _item(rate: Rate) -> RateLimitItemPerSecond:
    """Redis forgets by whole seconds; a fraction is rounded up, which admits less, never more."""
    return RateLimitItemPerSecond(rate.max, math.ceil(rate.per_seconds), namespace=_NAMESPACE)
