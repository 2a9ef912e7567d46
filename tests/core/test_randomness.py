"""Random bytes drawn many at a time: never twice, not by threads and not after a fork."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from contextos.core.randomness import AT_ONCE, random_bytes


@pytest.mark.parametrize("count", [0, 1, 16, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 5 * AT_ONCE])
def test_it_gives_as_many_as_asked_for(count: int) -> None:
    random_bytes(7)
    assert len(random_bytes(count)) == count


def test_none_is_given_twice() -> None:
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: [random_bytes(16) for _ in range(500)], range(8)))
    given = [each for many in drawn for each in many]
    assert len(set(given)) == len(given)


def test_a_forked_child_draws_its_own() -> None:
    random_bytes(16)  # the parent has some left over
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, random_bytes(16))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 16) != random_bytes(16)
    os.close(reading)
    os.close(writing)


def test_the_system_is_asked_once_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = os.urandom

    def counted(count: int) -> bytes:
        asked.append(count)
        return real(count)

    monkeypatch.setattr("contextos.core.randomness.os.urandom", counted)
    for _ in range(3 * AT_ONCE // 16):
        random_bytes(16)
    assert len(asked) <= 4
