"""The rate of a capability: so many calls of one tenant in so many seconds (C10)."""

from __future__ import annotations

import math
from functools import lru_cache

from django.conf import settings
from django.db import connection

from contextos.core.errors import coded_error
from gateway.context import CallContext
from gateway.rate_counters import Counter, InDatabase, InProcess, Rate
from gateway.redis_rates import InRedis


def check_rate(context: CallContext) -> None:
    """Take one call of the rate; a refusal says to the millisecond when the next one fits."""
    rate = Rate.declared(context.declaration.get("rate_limit"))
    if rate is None or context.rate_is_taken:
        return
    wait = counter().take(context.caller.tenant_id, context.capability.capability_id, rate)
    if wait is not None:
        raise coded_error(
            "rate.limited",
            message=f"{rate.max} calls in {rate.per_seconds:g} s are allowed; they are used up.",
            data={"max": rate.max, "per_seconds": rate.per_seconds},
            retry_after_ms=max(1, math.ceil(wait * 1000)),
        )


def counter() -> Counter:
    """Redis where there is one, the database where processes share one, else this process."""
    return _counter(settings.REDIS_URL or "", connection.vendor)


@lru_cache(maxsize=4)
def _counter(redis_url: str, vendor: str) -> Counter:
    if redis_url:
        return InRedis(redis_url, otherwise=InDatabase())
    return InProcess() if vendor == "sqlite" else InDatabase()
