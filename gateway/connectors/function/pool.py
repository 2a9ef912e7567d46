"""A few runner processes, handed out one call at a time and killed when a call hangs."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from contextos.core.errors import coded_error
from contextos.env import PROJECT_ROOT, VARIABLES
from gateway.connectors.function.frames import (
    FrameTooLarge,
    OutOfTime,
    Patience,
    PeerGone,
    read_frame,
    write_frame,
)

START_SECONDS = 20.0
# A function needs an interpreter and a language, never our database or keys.
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONDONTWRITEBYTECODE")


_OURS = {name for v in VARIABLES for name in (v.name, f"{v.name}_FILE")}


class Runner:
    """One child process and the two ends of its pipe."""

    def __init__(self, modules: Sequence[str], *, also: Sequence[str] = ()) -> None:
        names = {*_PASSED_ON, *also} - _OURS
        environment = {name: os.environ[name] for name in names if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603  our own interpreter and module
            [sys.executable, "-m", "gateway.connectors.function.child", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=PROJECT_ROOT,
            env=environment | {"PYTHONUNBUFFERED": "1"},
            close_fds=True,
            start_new_session=True,  # so that what a function started can be ended with it
        )
        try:
            hello = read_frame(self._replies, patience=Patience(time.monotonic() + START_SECONDS))
        except (PeerGone, OutOfTime, FrameTooLarge) as fault:
            self.kill()
            raise coded_error("function.runner_failed") from fault
        self.functions = frozenset(hello["functions"])
        self.killed = False

    @property
    def _replies(self) -> int:
        stream = self._process.stdout
        return -1 if stream is None else stream.fileno()

    @property
    def alive(self) -> bool:
        """Whether it can take another call."""
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], patience: Patience) -> dict[str, Any]:
        """One call. On any trouble the process is killed: its state is unknown.

        Whatever the trouble is: an answer left in the pipe would be taken for the next call's.
        """
        stream = self._process.stdin
        try:
            write_frame(-1 if stream is None else stream.fileno(), request)
            reply: dict[str, Any] = read_frame(self._replies, patience=patience)
        except BaseException:
            self.kill()
            raise
        return reply

    def kill(self) -> None:
        """End it at once, with whatever it started, and close the pipe."""
        self.killed = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class RunnerPool:
    """Starts runners when they are first needed, at most `size`; a forked child starts its own."""

    def __init__(self, modules: Sequence[str], *, size: int, also: Sequence[str] = ()) -> None:
        self._modules = tuple(modules)
        self._also = tuple(also)
        self._size = size
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._owner = os.getpid()
        self._idle: queue.LifoQueue[Runner | None] = queue.LifoQueue()
        for _ in range(self._size):
            self._idle.put(None)  # a place for a runner that is not started yet

    def ask(self, request: dict[str, Any], patience: Patience) -> dict[str, Any]:
        """Wait for a free place, start a runner where there is none, make the call."""
        places = self._places()
        try:
            runner = places.get(timeout=max(0.0, patience.until - time.monotonic()))
        except queue.Empty:
            raise coded_error("function.busy") from None
        try:
            if runner is None or not runner.alive:
                runner = Runner(self._modules, also=self._also)
            if time.monotonic() >= patience.until:
                # Starting took its time; whoever holds the call's lease may be another by now.
                raise coded_error("function.busy")
            return runner.ask(request, patience)
        finally:
            # Whether it still lives is asked when it is needed again.
            places.put(None if runner is None or runner.killed else runner)

    def _places(self) -> queue.LifoQueue[Runner | None]:
        with self._lock:
            if self._owner != os.getpid():
                self._reset()
            return self._idle

    def close(self) -> None:
        """End every idle runner."""
        places = self._places()
        for _ in range(self._size):
            with contextlib.suppress(queue.Empty):
                runner = places.get_nowait()
                if runner is not None:
                    runner.kill()
                places.put(None)
