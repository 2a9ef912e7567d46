"""Whoever kills the demo's worker sees it come back; whoever kills its web server sees the end."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from contextos.demo import supervisor as module
from contextos.demo.supervisor import ProcessSpec, Supervisor


@pytest.fixture
def demo() -> Iterator[Supervisor]:
    sleeper = "tests.demo.sleeper"
    specs = [ProcessSpec("web", [], sleeper), ProcessSpec("worker", [], sleeper, revived=True)]
    running = Supervisor(specs, os.environ)
    running.start()
    yield running
    running.stop()


def _kill(demo: Supervisor, name: str) -> int:
    child = demo._children[name]
    child.kill()
    child.wait()
    return child.pid


def _watched(demo: Supervisor, seconds: float) -> tuple[str, int] | None:
    timer = threading.Timer(seconds, demo.stopping.set)
    timer.start()
    try:
        return demo.wait()
    finally:
        timer.cancel()


def test_a_killed_worker_is_started_again(
    demo: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIVED_SECONDS", 0.0)
    killed = _kill(demo, "worker")
    assert _watched(demo, 1.0) is None
    assert demo._children["worker"].pid != killed
    assert demo.first_dead() is None


def test_a_worker_that_ends_at_once_is_not_started_for_ever(demo: Supervisor) -> None:
    _kill(demo, "worker")
    assert _watched(demo, 5.0) == ("worker", -9)


def test_without_its_web_server_the_demo_ends(
    demo: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIVED_SECONDS", 0.0)
    _kill(demo, "web")
    assert _watched(demo, 5.0) == ("web", -9)


def test_whoever_seals_the_log_is_asked_to_end_after_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sleeper = "tests.demo.sleeper"
    specs = [ProcessSpec("sealer", [], sleeper, ends_last=True), ProcessSpec("web", [], sleeper)]
    running = Supervisor(specs, os.environ)
    running.start()
    children, seen = dict(running._children), []
    ending = children["sealer"].terminate

    def terminate() -> None:
        seen.append(children["web"].poll())
        ending()

    monkeypatch.setattr(children["sealer"], "terminate", terminate)
    running.stop()
    assert seen == [-15]  # the web server had ended by then
