"""Starts the product as a user does, `manage.py demo`, and stops it cleanly."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.own_services import own_database, own_queue

ROOT = Path(__file__).resolve().parent.parent.parent
LONGEST_START = 300.0  # migrations and all on a busy machine; usually half a minute
LONGEST_STOP = 30.0


@dataclass(frozen=True, slots=True)
class Demo:
    """A running product and what its ready-file says."""

    url: str
    users: dict[str, dict[str, str]]
    data_dir: Path
    database_url: str | None  # None: the embedded database in the demo's own folder


@contextmanager
def running_demo(folder: Path) -> Iterator[Demo]:
    """The demo on a free port with its own data directory, and database and queue where given."""
    with (
        own_database(os.environ.get("DATABASE_URL")) as database_url,
        _running(folder, database_url) as told,
    ):
        yield Demo(told["url"], told["users"], folder / "data", database_url)


@contextmanager
def _running(folder: Path, database_url: str | None) -> Iterator[dict[str, Any]]:
    process = _start(folder, database_url)
    watchdog = threading.Timer(LONGEST_START, process.kill)
    watchdog.start()
    try:
        told = _wait_until_ready(process)
        watchdog.cancel()
        yield told
    finally:
        watchdog.cancel()
        process.send_signal(signal.SIGTERM)
        process.wait(LONGEST_STOP)


def _start(folder: Path, database_url: str | None) -> subprocess.Popen[str]:
    command = [sys.executable, "manage.py", "demo", "--port", str(_free_port())]
    command += ["--data-dir", str(folder / "data"), "--ready-file", str(folder / "ready.json")]
    kept = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    if database_url:
        environment["DATABASE_URL"] = database_url
    if redis_url := own_queue(os.environ.get("REDIS_URL")):
        environment["REDIS_URL"] = redis_url
    log = (folder / "demo.log").open("w", encoding="utf-8")
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
    )


def _wait_until_ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The demo prints its ready object as one line when everything answers."""
    seen: list[str] = []
    for line in process.stdout or ():
        seen.append(line)
        if line.startswith("{"):
            told: dict[str, Any] = json.JSONDecoder().decode(line)
            if "users" in told:
                return told
    raise AssertionError("the demo did not become ready:\n" + "".join(seen))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
