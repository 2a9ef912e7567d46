"""Keys are asked for seldom, never in a storm; an unreachable issuer is remembered for a while."""

from __future__ import annotations

import threading

import pytest
from joserfc.jwk import KeySet

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.signing import Ed25519Signer
from contextos.core.tokens import key_set
from contextos.identity.key_cache import CacheTimes, KeyCache

TIMES = CacheTimes(fresh_for=300, retry_after=30, stale_for=3600)


class Source:
    """Something that has keys, or fails, and counts how often it is asked."""

    def __init__(self) -> None:
        self.signers = [Ed25519Signer.generate()]
        self.fails = False
        self.asked = 0
        self.now = 1000.0

    def load(self) -> KeySet:
        self.asked += 1
        if self.fails:
            raise coded_error("auth.keys_unavailable")
        return key_set({"keys": [signer.verification_key.jwk() for signer in self.signers]})

    def cache(self) -> KeyCache:
        return KeyCache(self.load, TIMES, clock=lambda: self.now)

    @property
    def kid(self) -> str:
        return self.signers[-1].verification_key.kid


def test_fresh_keys_are_not_asked_for_again() -> None:
    source = Source()
    cache = source.cache()
    for _ in range(5):
        cache.keys_for(source.kid)
    assert source.asked == 1
    source.now += 300
    cache.keys_for(source.kid)
    assert source.asked == 2


def test_a_new_kid_is_looked_up_once_and_then_rate_limited() -> None:
    source = Source()
    cache = source.cache()
    cache.keys_for(source.kid)
    source.now += 31
    source.signers.append(Ed25519Signer.generate())
    assert any(key.kid == source.kid for key in cache.keys_for(source.kid))
    assert source.asked == 2
    for number in range(50):
        cache.keys_for(f"made-up-{number}")
    assert source.asked == 2


def test_a_failure_is_remembered_before_the_source_is_asked_again() -> None:
    source = Source()
    source.fails = True
    cache = source.cache()
    for _ in range(3):
        with pytest.raises(ContextOSError):
            cache.keys_for("any")
    assert source.asked == 1
    source.now, source.fails = source.now + 30, False
    assert cache.keys_for(source.kid)


def test_known_keys_outlive_an_outage_but_not_for_ever() -> None:
    source = Source()
    cache = source.cache()
    cache.keys_for(source.kid)
    source.fails = True
    source.now += 300
    assert cache.keys_for(source.kid)
    source.now += 3600
    with pytest.raises(ContextOSError):
        cache.keys_for(source.kid)


def test_many_threads_cause_one_load() -> None:
    source = Source()
    cache = source.cache()
    threads = [threading.Thread(target=cache.keys_for, args=[source.kid]) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.asked == 1


def test_who_names_a_strange_key_keeps_nobody_else_waiting() -> None:
    source, asked, go = Source(), threading.Event(), threading.Event()

    def slow() -> KeySet:
        if source.asked:
            asked.set()
            go.wait(10)
        return source.load()

    cache = KeyCache(slow, TIMES, clock=lambda: source.now)
    cache.keys_for(source.kid)
    source.now += 31
    stranger = threading.Thread(target=cache.keys_for, args=["made-up"])
    stranger.start()
    assert asked.wait(10)
    usual = threading.Thread(target=cache.keys_for, args=[source.kid])
    usual.start()
    usual.join(5)
    kept_waiting = usual.is_alive()
    go.set()
    for thread in (stranger, usual):
        thread.join()
    assert not kept_waiting
