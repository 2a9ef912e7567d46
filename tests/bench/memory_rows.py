"""What web and worker hold after many governed calls: memory has to stay where it was."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.models import ToolCall
from gateway.states import CallState
from tests.bench.measure import Row, children_of
from tests.bench.served import Served, served, served_environment
from tests.gateway.world import GatewayWorld
from tests.ops.environment import ROOT

CALLERS = 8
PATIENCE_SECONDS = 120.0
_WRITE = {"capability_id": "notes.add", "args": {"text": "A note."}}
_WORKER = ["-m", "celery", "-A", "contextos.celery", "-q", "worker", "-P", "prefork"]
_ALONE = ["--concurrency", "1", "--without-gossip", "--without-mingle", "--loglevel", "ERROR"]


def memory_rows(*, warm: int = 10_000, calls: int = 100_000, writes: int = 6_000) -> Iterator[Row]:
    """How much more is held after all calls than after the first of them."""
    world = GatewayWorld(with_work=True)
    with served(world) as gateway:
        grown = _growth(gateway.pid, lambda number: _call(gateway.lookup, number), warm, calls)
        _require_no_errors(gateway)
    yield Row("web_memory_growth_mb", grown, "MB", must=48, aim=16)
    with _worker() as pid, served(world, REDIS_URL=os.environ["REDIS_URL"]) as gateway:
        grown = _growth(pid, lambda number: _written(gateway, number), warm // 5, writes)
        _require_no_errors(gateway)
    yield Row("worker_memory_growth_mb", grown, "MB", must=16, aim=4)


def _growth(pid: int, make: Callable[[int], None], warm: int, calls: int) -> float:
    make(warm)
    before = _resident_mb(pid)
    make(calls - warm)
    return max(0.0, _resident_mb(pid) - before)


def _written(gateway: Served, number: int) -> None:
    """Taken and made."""
    _call(lambda: gateway.write(_WRITE), number)
    written = ToolCall.objects.filter(capability_id=_WRITE["capability_id"])
    waiting = written.exclude(state=CallState.OK)
    until = time.monotonic() + PATIENCE_SECONDS + number / 10
    while waiting.exists():
        if time.monotonic() > until:
            raise RuntimeError(f"{waiting.count()} writes were not made in time")
        time.sleep(0.2)


def _call(once: Callable[[], None], calls: int) -> None:
    def call_on() -> None:
        for _ in range(calls // CALLERS):
            once()

    callers = [threading.Thread(target=call_on) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


@contextmanager
def _worker() -> Iterator[int]:
    """A worker with one child; the child, which makes the calls."""
    process = subprocess.Popen(
        [sys.executable, *_WORKER, *_ALONE],
        cwd=ROOT,
        env=served_environment() | {"REDIS_URL": os.environ["REDIS_URL"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while not (children := children_of(process.pid)):
            if time.monotonic() > until:
                raise RuntimeError("the worker did not start")
            time.sleep(0.2)
        yield children[0]
    finally:
        process.terminate()
        process.wait(timeout=40)


def _require_no_errors(gateway: Served) -> None:
    if gateway.errors:
        raise RuntimeError(f"{gateway.errors} governed calls failed")


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
