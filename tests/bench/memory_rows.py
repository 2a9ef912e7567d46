"""What a web process holds after many governed calls: memory has to stay where it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from tests.bench.measure import Row
from tests.bench.served import Served, served
from tests.gateway.world import GatewayWorld

CALLERS = 8


def memory_rows(*, warm: int = 10_000, calls: int = 100_000) -> Iterator[Row]:
    """How much more is held after all calls than after the first of them."""
    with served(GatewayWorld()) as gateway:
        _call(gateway, warm)
        before = _resident_mb(gateway.pid)
        _call(gateway, calls - warm)
        grown = _resident_mb(gateway.pid) - before
        if gateway.errors:
            raise RuntimeError(f"{gateway.errors} governed reads failed")
    yield Row("web_memory_growth_mb", max(0.0, grown), "MB", must=48, aim=16)


def _call(gateway: Served, calls: int) -> None:
    def call_on() -> None:
        for _ in range(calls // CALLERS):
            gateway.lookup()

    callers = [threading.Thread(target=call_on) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
