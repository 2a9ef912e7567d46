"""Starts the demo's processes, revives a killed worker, stops them all cleanly."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextos.env import PROJECT_ROOT

GRACE_SECONDS = 15
LIVED_SECONDS = 3.0  # whoever ends sooner would only end again
HIGHEST_PORT = 65535
_SET_PARENT_DEATH_SIGNAL = 1


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A named child: what to run, in the words after `python manage.py` (or `python -m ...`)."""

    name: str
    arguments: Sequence[str]
    module: str | None = None
    revived: bool = False  # started again when it is killed; else its end is the end of all
    ends_last: bool = False  # seals what the others write until their end

    @property
    def command(self) -> list[str]:
        """The whole command line."""
        program = ["-m", self.module] if self.module else [str(PROJECT_ROOT / "manage.py")]
        return [sys.executable, *program, *self.arguments]


def port_is_free(port: int, host: str = "127.0.0.1") -> bool:
    """True when nothing listens there; a port in TIME_WAIT counts as free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port_beside(port: int, host: str = "127.0.0.1") -> int:
    """The next port when it is free, so that it is easy to remember; else any free one."""
    if port < HIGHEST_PORT and port_is_free(port + 1):
        return port + 1
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


class Supervisor:
    """Owns the demo's children from start to stop."""

    def __init__(self, specs: Sequence[ProcessSpec], environment: Mapping[str, str]) -> None:
        self._specs = specs
        self._environment = dict(environment)
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._began: dict[str, float] = {}
        self.stopping = threading.Event()

    def start(self) -> None:
        """Start every child; they end with us even if we are killed."""
        for spec in self._specs:
            self._start(spec)

    def _start(self, spec: ProcessSpec) -> None:
        self._began[spec.name] = time.monotonic()
        self._children[spec.name] = subprocess.Popen(  # noqa: S603  our own manage.py
            spec.command,
            cwd=PROJECT_ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C reaches us alone; we stop them in order
            preexec_fn=_die_with_parent,  # noqa: PLW1509  we run no threads
        )

    def stop_on_signals(self) -> None:
        """SIGINT and SIGTERM ask for an orderly stop."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.stopping.set())

    def first_dead(self) -> tuple[str, int] | None:
        """The name and exit code of a child that ended by itself."""
        for name, child in self._children.items():
            code = child.poll()
            if code is not None:
                return name, code
        return None

    def wait(self) -> tuple[str, int] | None:
        """Block until somebody asks to stop (None) or a child dies for good (its name and code)."""
        while not self.stopping.wait(timeout=0.3):
            dead = self.first_dead()
            if dead and not self._revive(dead[0]):
                return dead
        return None

    def _revive(self, name: str) -> bool:
        spec = next(spec for spec in self._specs if spec.name == name)
        if not spec.revived or time.monotonic() - self._began[name] < LIVED_SECONDS:
            return False
        sys.stderr.write(f"demo: the {name} process was killed; it is started again.\n")
        self._start(spec)
        return True

    def stop(self) -> None:
        """Ask every child to finish, last started first; insist after the grace period."""
        last = {spec.name for spec in self._specs if spec.ends_last}
        self._end([child for name, child in self._children.items() if name not in last])
        self._end([child for name, child in self._children.items() if name in last])
        self._children.clear()

    def _end(self, children: Sequence[subprocess.Popen[bytes]]) -> None:
        for child in reversed(children):
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
        until = time.monotonic() + GRACE_SECONDS
        for child in children:
            try:
                child.wait(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() == 1:
            os._exit(1)
