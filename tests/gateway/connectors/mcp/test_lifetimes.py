"""How long things live: sessions between calls, loops per process, nothing after the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gateway.connectors.mcp import sessions as session_terms
from gateway.connectors.mcp.portal import close_sessions, sessions
from tests.architecture.source import ROOT
from tests.gateway.connectors.mcp.calls import fault_of, invoke
from tests.gateway.connectors.mcp.hostile import methods_seen, rpc, speaking
from tests.gateway.connectors.mcp.sdk_server import SdkServer
from tests.net.upstreams import Call, upstream

THREADS = 8
GOOD = {"content": [], "structuredContent": {"echo": "hello"}}
ONE_CALL = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "contextos.settings.test"
import django
django.setup()
from tests.gateway.connectors.mcp.calls import invoke
print(invoke(sys.argv[1], seconds=30).output)
"""


def _good(call: Call, message: dict[str, Any]) -> None:
    call.send(rpc(message, GOOD))


def _burst(server: SdkServer, numbers: Iterable[int]) -> None:
    for number in numbers:
        invoke(server.url)
        if number % 40 == 0:
            invoke(server.url, "said_no", args={"how": "plain"})
            fault_of(server.url, "slow", args={"seconds": 5}, seconds=0.05)


def _held() -> tuple[int, int]:
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


@pytest.mark.slow
@pytest.mark.proves("A1")
def test_many_calls_good_and_bad_leave_nothing_behind(server: SdkServer) -> None:
    _burst(server, range(20))
    time.sleep(1.5)  # streams of abandoned calls end with their exchange
    before = _held()
    _burst(server, range(200))
    time.sleep(1.5)
    after = _held()
    assert after[0] <= before[0] + 3
    assert after[1] <= before[1] + 1
    assert sessions().counts() == {"open": 1, "opened": 1}
    close_sessions()
    assert not any(thread.name == "mcp-sessions" for thread in threading.enumerate())


@pytest.mark.scale
@pytest.mark.proves("A1")
def test_ten_thousand_calls_of_many_threads_leave_no_session_thread_or_descriptor(
    server: SdkServer,
) -> None:
    def held_after(calls: int) -> tuple[int, int]:
        with ThreadPoolExecutor(THREADS) as pool:
            shares = [range(first, calls, THREADS) for first in range(THREADS)]
            list(pool.map(lambda share: _burst(server, share), shares))
        time.sleep(1.5)
        return _held()

    before, after = held_after(200), held_after(10_000)
    assert after[0] <= before[0] + 3
    assert after[1] <= before[1] + 1
    assert sessions().counts() == {"open": 1, "opened": 1}


def test_an_idle_session_is_closed_and_the_server_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_terms, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(session_terms, "LOOK_EVERY_SECONDS", 0.05)
    with upstream(speaking(_good)) as server:
        invoke(f"{server.url}/mcp")
        until = time.monotonic() + 5
        while sessions().counts()["open"] and time.monotonic() < until:
            time.sleep(0.02)
        assert sessions().counts()["open"] == 0
        assert methods_seen(server.requests)[-1] == "DELETE"
        assert invoke(f"{server.url}/mcp").output == GOOD["structuredContent"]


def test_a_forked_child_opens_its_own_session_and_the_parents_goes_on(server: SdkServer) -> None:
    invoke(server.url)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            fresh = sessions().counts() == {"open": 0, "opened": 0}
            good = invoke(server.url).output == {"echo": "hello"}
            close_sessions()
            code = 0 if fresh and good else 2
        finally:
            os._exit(code)
    assert _exit_code(child) == 0
    assert invoke(server.url).output == {"echo": "hello"}
    assert sessions().counts() == {"open": 1, "opened": 1}


def _exit_code(child: int) -> int:
    """A child that hangs is ended: waiting for it would hang the suite."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


@pytest.mark.slow
def test_a_process_says_goodbye_when_it_ends() -> None:
    with upstream(speaking(_good)) as server:
        done = subprocess.run(
            [sys.executable, "-c", ONE_CALL, f"{server.url}/mcp"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.stdout.strip() == str(GOOD["structuredContent"]), done.stderr
        assert done.returncode == 0
        assert methods_seen(server.requests)[-1] == "DELETE"


def test_a_session_that_will_not_open_is_not_kept() -> None:
    with upstream(speaking(_good, version="1999-01-01")) as server:
        for _ in range(3):
            assert fault_of(f"{server.url}/mcp").code == "mcp.version_mismatch"
        assert sessions().counts() == {"open": 0, "opened": 3}


def test_no_more_sessions_are_held_than_allowed(
    server: SdkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_terms, "MOST_SESSIONS", 2)
    for number in range(4):
        invoke(server.url, tenant_id=f"tenant_{number}")
    assert sessions().counts() == {"open": 2, "opened": 4}
