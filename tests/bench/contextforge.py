"""IBM ContextForge as a real process in a venv of its own: auth on, PostgreSQL and Redis."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
import psycopg
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.bench.measure import cpu_seconds
from tests.ops.environment import ROOT
from tests.ops.processes import free_port

PACKAGES = ("mcp-contextforge-gateway==1.0.7.post20260921", "psycopg[binary]", "redis")
HOME = ROOT / "build" / "contextforge"
DATABASE = "contextforge_beside_us"
START_SECONDS = 300.0  # it migrates an empty database first
_SECRET = "only-for-this-bench-0123456789-abcdefghijklmnopqrstuvwxyz"
_WORD = "Only-For-This-Bench-1234!"
_PERSON = "admin@example.com"


class NotThereError(Exception):
    """It can't be installed or started here; the message says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The running gateway."""

    pid: int
    port: int
    token: str

    def cpu_seconds(self) -> float:
        """What it has used so far, children included."""
        return cpu_seconds(self.pid)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request of its own REST interface."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, orjson.dumps(body) if body else None, self._headers())
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise NotThereError(f"it answered {answer.status} to {path}: {text[:200]!r}")
        return orjson.loads(text)

    def rest_caller(self, tool: str, args: Mapping[str, Any]) -> Callable[[], None]:
        """Calls a tool over a kept connection, opened again when it was left idle too long."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        body = orjson.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": tool, "arguments": args},
            }
        )

        def call() -> None:
            try:
                connection.request("POST", "/rpc", body, self._headers())
                text = connection.getresponse().read()
            except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
                connection.close()
                connection.request("POST", "/rpc", body, self._headers())
                text = connection.getresponse().read()
            answer = orjson.loads(text)
            if "error" in answer or answer["result"].get("isError"):
                raise NotThereError(f"its tool failed: {str(answer)[:300]}")

        return call

    @contextmanager
    def mcp_caller(
        self, server_id: str, tool: str, args: dict[str, Any]
    ) -> Iterator[Callable[[], None]]:
        """Calls a tool over one kept MCP session."""
        url = f"http://127.0.0.1:{self.port}/servers/{server_id}/mcp"
        http_client = create_mcp_http_client(headers={"Authorization": f"Bearer {self.token}"})
        transport = streamable_http_client(url, http_client=http_client)
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(
                Client(transport, mode="legacy", cache=None)
            ) as client,
        ):

            def call() -> None:
                answer = portal.call(client.call_tool, tool, args)
                if answer.is_error:
                    raise NotThereError(f"its tool failed: {answer.content}")

            yield call

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}


@contextmanager
def contextforge() -> Iterator[Peer]:
    """The peer until the block ends, on a database of its own in the bench's server."""
    _install()
    environment = _environment()
    token = _output([_python(), "-m", "mcpgateway.utils.create_jwt_token", *_TOKEN], environment)
    port = free_port()
    with _own_database(), (HOME / "log.txt").open("wb") as log:
        command = [str(HOME / "bin" / "mcpgateway"), "mcpgateway.main:app"]
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            env=environment,
            cwd=HOME,
            stdout=log,
            stderr=log,
        )
        try:
            peer = Peer(server.pid, port, token.split()[-1])
            _wait_until_healthy(server, peer)
            yield peer
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(timeout=10)
            server.kill()  # it has been seen to stay
            server.wait()


_TOKEN = ("-u", _PERSON, "--admin", "-e", "1440")


def _python() -> str:
    return str(HOME / "bin" / "python")


def _install() -> None:
    """Once: later runs find it."""
    stamp = HOME / "installed.txt"
    if stamp.exists() and stamp.read_text() == "\n".join(PACKAGES):
        return
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.parent.mkdir(exist_ok=True)
    for command in (
        [sys.executable, "-m", "uv", "venv", "-q", str(HOME)],
        [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", _python(), *PACKAGES],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotThereError(f"it could not be installed: {done.stderr.strip()[-300:]}")
    stamp.write_text("\n".join(PACKAGES))


def _environment() -> dict[str, str]:
    """Its own recommendations for production, but for the limits that would refuse a bench."""
    own = urlsplit(os.environ["DATABASE_URL"])._replace(
        scheme="postgresql+psycopg", path=f"/{DATABASE}"
    )
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(HOME),
        "ENVIRONMENT": "development",
        "DATABASE_URL": own.geturl(),
        "CACHE_TYPE": "redis",
        "REDIS_URL": os.environ["REDIS_URL"],
        "AUTH_REQUIRED": "true",
        "JWT_SECRET_KEY": _SECRET,
        "AUTH_ENCRYPTION_SECRET": _SECRET,
        "PLATFORM_ADMIN_EMAIL": _PERSON,
        "PLATFORM_ADMIN_PASSWORD": _WORD,
        "BASIC_AUTH_PASSWORD": _WORD,
        "SSRF_ALLOW_LOCALHOST": "true",
        "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
        "RATE_LIMITING_ENABLED": "false",
        "TOOL_RATE_LIMIT": "1000000",
        "LOG_LEVEL": "ERROR",
        "PLUGINS_ENABLED": "false",
        "MCPGATEWAY_UI_ENABLED": "false",
        "MCPGATEWAY_ADMIN_API_ENABLED": "false",
    }


def _output(command: list[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotThereError(f"{command[2]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


@contextmanager
def _own_database() -> Iterator[None]:
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {DATABASE}")
        try:
            yield
        finally:
            connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def _wait_until_healthy(server: subprocess.Popen[bytes], peer: Peer) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        with suppress(OSError, http.client.HTTPException, NotThereError):
            peer.ask("GET", "/health")
            return
        time.sleep(0.5)
    raise NotThereError("it did not start: see build/contextforge/log.txt")


def version() -> str:
    """What was measured."""
    return PACKAGES[0].replace("==", " ")
