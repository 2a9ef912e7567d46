"""Starts the real demo as its user would and stops it again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(**extra: str) -> dict[str, str]:
    """This environment without anything that would point the demo at another database or data."""
    mine = ("DATABASE_URL", "REDIS_URL", "CONTEXTOS_DATA_DIR", "DJANGO_SETTINGS_MODULE")
    return {**{k: v for k, v in os.environ.items() if k not in mine}, **extra}


def manage(
    *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one management command to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=dict(env or clean_environment()),
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )


@dataclass
class Demo:
    """A running demo."""

    process: subprocess.Popen[str]
    data_dir: Path
    ready: dict[str, Any]

    @property
    def url(self) -> str:
        """Where it answers."""
        return str(self.ready["url"])

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(timeout=40)


def start_demo(data_dir: Path, *, env: Mapping[str, str] | None = None) -> Demo:
    """Start it and wait for its ready-file."""
    ready_file = data_dir / "ready.json"
    log = (data_dir.parent / "demo.log").open("a")
    arguments = ["--port", str(free_port()), "--data-dir", str(data_dir)]
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo", *arguments, "--ready-file", str(ready_file)],
        cwd=ROOT,
        env=dict(env or clean_environment()),
        stdout=log,
        stderr=log,
        text=True,
    )
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if ready_file.exists():
            return Demo(process, data_dir, json.loads(ready_file.read_text()))
        time.sleep(0.2)
    process.kill()
    raise AssertionError((data_dir.parent / "demo.log").read_text())
