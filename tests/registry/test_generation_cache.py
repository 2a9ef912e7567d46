"""Values by generation: built once, anew for another number, bounded, faults leave nothing."""

from __future__ import annotations

import threading

import pytest

from registry.generation_cache import GenerationCache


def test_a_value_is_built_once_per_generation() -> None:
    built: list[tuple[str, int]] = []

    def build(key: str, generation: int) -> int:
        built.append((key, generation))
        return generation

    cache: GenerationCache[str, int] = GenerationCache(build, limit=8)
    assert [cache.get("a", 1), cache.get("a", 1), cache.get("a", 2), cache.get("b", 2)] == [
        1,
        1,
        2,
        2,
    ]
    assert built == [("a", 1), ("a", 2), ("b", 2)]


def test_the_oldest_is_forgotten_first() -> None:
    cache: GenerationCache[int, int] = GenerationCache(lambda key, generation: key, limit=3)
    for key in range(5):
        cache.get(key, 1)
    assert len(cache) == 3
    assert [key in cache for key in range(5)] == [False, False, True, True, True]


def test_a_fault_is_told_each_time_and_leaves_nothing_behind() -> None:
    def refuse(key: str, generation: int) -> int:
        raise LookupError(key)

    cache: GenerationCache[str, int] = GenerationCache(refuse, limit=8)
    for key in ("a", "a", "b"):
        with pytest.raises(LookupError):
            cache.get(key, 1)
    assert len(cache) == 0
    assert cache._builders == {}


def test_many_at_once_wait_for_one_builder() -> None:
    built: list[int] = []
    gate = threading.Barrier(8)

    def build(key: str, generation: int) -> int:
        built.append(generation)
        return generation

    cache: GenerationCache[str, int] = GenerationCache(build, limit=8)

    def ask() -> None:
        gate.wait()
        cache.get("a", 7)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [7]
