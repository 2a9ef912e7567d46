"""Starts our servers as real processes and waits for them without sleeping blindly."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.ops.environment import ROOT

READY_WITHIN = 200  # tries of 0.1 s


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A child that is gone when the test ends, whatever happened."""
    child = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # its own children too: they hold our pipes
        child.communicate()


def wait_until_listening(child: subprocess.Popen[str], port: int) -> None:
    """Return once the port takes connections; fail at once when the child dies."""
    for _ in range(READY_WITHIN):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            _fail_if_it_ends(child)
        else:
            return
    raise AssertionError(f"nothing listens on {port}")


def _fail_if_it_ends(child: subprocess.Popen[str]) -> None:
    try:
        code = child.wait(timeout=0.1)
    except subprocess.TimeoutExpired:
        return
    raise AssertionError(f"the server ended with {code}: {child.stderr and child.stderr.read()}")


def wait_until_refused(child: subprocess.Popen[str], port: int) -> None:
    """Return once the port takes no new connections, although the child still runs."""
    for _ in range(READY_WITHIN):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return
        _fail_if_it_ends(child)
    raise AssertionError(f"{port} goes on taking connections")


def has_ended(pid: int, seconds: float = 10) -> bool:
    """Whether a process that is not our child ends within the time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)
