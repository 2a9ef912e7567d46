"""Keeps a periodic job from being joined by its next round when it takes longer than its pause.

A courtesy to the other work, never a guarantee: every job is safe in any number of processes at
once, so a Redis that is away or slow lets everybody through.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache

import redis
from django.conf import settings

HELD_SECONDS = 10  # a killed holder stands in the way no longer than this


@contextmanager
def one_at_a_time(name: str, *, rest_seconds: float = 0.0) -> Iterator[bool]:
    """Whether this one is alone under the name; others are told no until it has ended and rested.

    A rest makes a queue of late messages cheap: one of them works, the others go by.
    """
    if not settings.REDIS_URL:
        yield True
        return
    store, key, mine = _store(settings.REDIS_URL), f"contextos:alone:{name}", secrets.token_hex(8)
    try:
        alone = bool(store.set(key, mine, nx=True, ex=HELD_SECONDS))
    except redis.RedisError:
        yield True
        return
    try:
        yield alone
    finally:
        with suppress(redis.RedisError):
            if alone and store.get(key) == mine.encode():
                store.pexpire(key, int(rest_seconds * 1000))  # none at all removes it


@lru_cache(maxsize=2)
def _store(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1)
