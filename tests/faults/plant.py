"""The product as its users run it: web, workers and beat as processes, to be killed at will."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.caller import Approvers, Caller
from tests.faults.crash_points import ARMED_VARIABLE, ROLE_VARIABLE
from tests.faults.ledger_functions import DATABASE_VARIABLE, LEDGER_VARIABLE
from tests.faults.store import Ledger, Store
from tests.faults.wall_clock import WallClocks
from tests.ops.environment import ROOT, bare_environment
from tests.ops.processes import free_port

WORKERS = 3
SEALERS = ("sealer-1", "sealer-2")
START_SECONDS = 90.0
ENDED = {"ok", "failed", "rejected", "cancelled", "unknown_outcome"}
_CELERY = ["-m", "celery", "-A", "contextos.celery", "-q"]


def wait_until(holds: Callable[[], bool], what: str, *, seconds: float = 60.0) -> float:
    """Look until it holds; how long that took. Fails with `what` when it never does."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        if holds():
            return time.monotonic() - started
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:.0f} s: {what}")


@dataclass(slots=True)
class Plant:
    """One installation: its folder, its environment, the processes that run of it."""

    folder: Path
    database_url: str
    redis_url: str | None = None
    port: int = field(default_factory=free_port)
    ready: Mapping[str, Any] = field(default_factory=dict)
    approvers: Approvers | None = None
    clocks: WallClocks = field(init=False)
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clocks = WallClocks.built(self.folder)

    @property
    def environment(self) -> dict[str, str]:
        """What every process of it is told."""
        told = {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "CONTEXTOS_DATA_DIR": str(self.folder),
            "CONTEXTOS_LOG_LEVEL": "INFO",
            "CONTEXTOS_FUNCTION_MODULES": "tests.faults.ledger_functions",
            "CONTEXTOS_FUNCTION_ENVIRONMENT": f"{LEDGER_VARIABLE},{DATABASE_VARIABLE}",
            DATABASE_VARIABLE: self.database_url,
            "DATABASE_URL": self.database_url,
            LEDGER_VARIABLE: str(self.ledger.path),
        }
        broker = {"REDIS_URL": self.redis_url} if self.redis_url else {}
        return bare_environment() | told | broker

    @property
    def armed(self) -> Path:
        """The file that names the point at which a process is to die; gone when one did."""
        return self.folder / "armed"

    @property
    def store(self) -> Store:
        """Its database, for reading."""
        return Store(self.database_url, self.folder)

    @property
    def ledger(self) -> Ledger:
        """What its functions really did."""
        return Ledger(self.folder / "ledger.sqlite3")

    @property
    def caller(self) -> Caller:
        """Somebody who may call everything it offers."""
        return Caller(self.port, self.ready["agent_token"], self.ready["tenant_id"])

    def settle(self) -> None:
        """Make the tables and the tenant."""
        ready_file = self.folder / "ready.json"
        command = [sys.executable, "-m", "tests.faults.settle", str(ready_file)]
        made = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stderr
        self.ready = json.JSONDecoder().decode(ready_file.read_text())
        self.approvers = Approvers(self.port, self.ready["approvers"])

    def manage(self, *arguments: str) -> None:
        """A command of the product, which has to end well."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start_web(self) -> None:
        """The web server, once it is ready."""
        self._start("web", ["manage.py", "serve", "--port", str(self.port), "--threads", "8"])
        wait_until(self._answers, "the web server answers", seconds=START_SECONDS)

    def start_worker(self, name: str = "worker") -> None:
        """A Celery worker with child processes, once it takes work."""
        told = ["--without-gossip", "--without-mingle", "--loglevel", "INFO", "-P", "prefork"]
        many = ["--concurrency", str(WORKERS), "--hostname", f"{name}@%h"]
        read_so_far = len(self.log(name))
        self._start(name, [*_CELERY, "worker", *many, *told])
        wait_until(
            lambda: " ready." in self.log(name)[read_so_far:], "a worker", seconds=START_SECONDS
        )

    def start_beat(self, name: str = "beat") -> None:
        """The clock that asks for a sweep every second."""
        schedule = ["--schedule", str(self.folder / name), "--pidfile="]
        self._start(name, [*_CELERY, "beat", "--loglevel", "WARNING", *schedule])

    def start_sealer(self, name: str) -> None:
        """One of the processes that seal the log."""
        self._start(name, ["manage.py", "seal"])

    def start_embedded(self) -> None:
        """The worker of a single machine."""
        self._start("worker", ["manage.py", "run_embedded"])

    def kill(self, name: str) -> None:
        """`kill -9` of a process and everything it started."""
        child = self._running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def kill_one_child(self, name: str) -> bool:
        """`kill -9` of one process that this one started, if it has any just now."""
        parent = self._running[name].pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if not children:
            return False
        with suppress(ProcessLookupError):
            os.kill(int(children[-1]), signal.SIGKILL)
        return True

    def revive(self, role: str) -> None:
        """Start again what died of this kind; a worker replaces its children by itself."""
        if role == "web":
            self.kill("web")
            self.start_web()
        for name in [name for name, child in self._running.items() if child.poll() is not None]:
            assert name in SEALERS, f"{name} has ended"
            self.start_sealer(name)

    def stop(self) -> None:
        """End what still runs."""
        for name in list(self._running):
            self.kill(name)

    def log(self, name: str) -> str:
        """What a process has said so far, over all its lives."""
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def settled(self, *, seconds: float = 60.0) -> float:
        """Wait until nothing is under way; how long that took."""
        return wait_until(
            lambda: self.store.under_way() == 0, "every call has ended", seconds=seconds
        )

    def worked_off(self, *, pause: float) -> float:
        """Wait for a long queue, however slow the machine: something has to end all the time. The
        longest time in which nothing did."""
        last, longest = time.monotonic(), 0.0
        left = self.store.under_way()
        while left:
            time.sleep(0.2)
            before, left = left, self.store.under_way()
            longest = max(longest, time.monotonic() - last)
            last = time.monotonic() if left < before else last
            assert longest < pause, f"nothing ended for {pause:.0f} s, {left} left"
        return longest

    def ended(self, *tool_call_ids: str, seconds: float = 30.0) -> None:
        """Wait until these have ended, those included that wait for people."""
        wait_until(
            lambda: set(self.store.states(*tool_call_ids)) <= ENDED, "they end", seconds=seconds
        )

    def sealed(self, *, seconds: float = 30.0) -> float:
        """Wait until every record and event is under a checkpoint; how long that took."""
        return wait_until(lambda: self.store.unsealed() == 0, "all is sealed", seconds=seconds)

    def _start(self, name: str, command: list[str]) -> None:
        role = name.partition("-")[0]
        told = {ROLE_VARIABLE: role, ARMED_VARIABLE: str(self.armed)}
        told |= self.clocks.environment(name)
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=self.environment | told,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
