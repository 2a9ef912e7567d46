"""What governing an MCP read costs over the same tool called by the SDK alone, both warm."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from mcp import Client

from gateway.connectors.mcp.portal import close_sessions, sessions
from tests.bench.measure import Row, in_turns
from tests.bench.served import served
from tests.gateway.connectors.mcp.calls import invoke
from tests.gateway.connectors.mcp.governed import probe_world
from tests.ops.environment import ROOT
from tests.ops.processes import free_port

TEXT = {"text": "hello"}
PROBE = "tests.gateway.connectors.mcp.sdk_server"


def mcp_rows(*, quick: bool) -> Iterator[Row]:
    """The rows about MCP."""
    with mcp_server() as url:
        with served(probe_world(url)) as gateway, _direct(url) as direct:
            gateway.environment = "development"
            gateway.asked = {"capability_id": "probe.say", "args": TEXT}
            added = _added(direct, gateway.lookup, calls=160 if quick else 2000)
            errors = gateway.errors
        if errors:
            raise RuntimeError(f"{errors} governed reads failed")
        yield Row("mcp_added_p50_ms", added, "ms", must=8, aim=5)
        yield Row(
            "mcp_leaked_descriptors", _leaked(url, 100 if quick else 10_000), "fds", must=3, aim=0
        )


def _added(direct: Callable[[], object], governed: Callable[[], object], *, calls: int) -> float:
    in_turns(direct, governed, calls=20)  # caches, connections, sessions
    alone, ours = in_turns(direct, governed, calls=calls)
    return (statistics.median(ours) - statistics.median(alone)) * 1000


def _leaked(url: str, calls: int) -> int:
    """Descriptors that many calls leave behind, beyond those of the warm session itself."""
    for _ in range(20):
        invoke(url, args=TEXT)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(calls):
        invoke(url, args=TEXT)
    left = len(list(Path("/proc/self/fd").iterdir())) - before
    if sessions().counts() != {"open": 1, "opened": 1}:
        raise RuntimeError("more than one session was opened")
    close_sessions()
    return max(0, left)


@contextmanager
def _direct(url: str) -> Iterator[Callable[[], object]]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(url, mode="legacy", cache=None)) as client,
    ):
        yield lambda: portal.call(client.call_tool, "echo", TEXT)


@contextmanager
def mcp_server() -> Iterator[str]:
    """The address of a real server of the SDK, in a process of its own."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", PROBE, str(port)], cwd=ROOT)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        _wait_for(url)
        yield url
    finally:
        close_sessions()
        server.terminate()
        server.wait(timeout=20)


def _wait_for(url: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            invoke(url, args=TEXT)
        except Exception:  # noqa: BLE001  whatever it is, it is not up yet
            time.sleep(0.2)
        else:
            close_sessions()
            return
    raise RuntimeError("the MCP server did not start")
