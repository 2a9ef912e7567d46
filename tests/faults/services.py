"""A database and a broker that a test may kill, stop, fill, starve and give back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

import psycopg

from scripts.with_services import as_other_user, postgresql_binaries, redis_binary, start_redis
from tests.ops.processes import free_port, has_ended

NAME = "faults"
MOST_CONNECTIONS = 60
SMALL_DISK = "160m"
# Nothing is synced to disk, which only a dying machine would show; what is committed has left
# the server's memory all the same, so that `kill -9` may lose none of it.
_OPTIONS = (
    "-c listen_addresses=127.0.0.1 -k '' -c fsync=off -c full_page_writes=off -c jit=off "
    f"-c synchronous_commit=on -c max_connections={MOST_CONNECTIONS} -c restart_after_crash=on"
)


@dataclass(slots=True)
class Database:
    """A PostgreSQL server of our own; its one database lies on a small disk where that is possible.

    The disk is a tmpfs, which only root can mount; `small_disk` says whether there is one.
    """

    port: int = field(default_factory=free_port)
    home: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="contextos-faults-")))
    small_disk: bool = False
    _prefix: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where the product finds it."""
        return self._address(NAME)

    def create(self) -> None:
        """Begin with nothing."""
        self.home.chmod(0o755)
        self._prefix = as_other_user(self.home)
        self._tool("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8")
        self.start()
        where = ""
        if self._mount():
            self._run(f"CREATE TABLESPACE small LOCATION '{self._disk}'")
            where = "TABLESPACE small"
        self._run(f'CREATE DATABASE "{NAME}" {where}')

    def remove(self) -> None:
        """Leave nothing behind."""
        with suppress(subprocess.CalledProcessError):
            self._tool("pg_ctl", "-m", "immediate", "-w", "stop")
        if self.small_disk:
            subprocess.run(["umount", "--lazy", str(self._disk)], check=False)
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self) -> None:
        """Let it run, and wait until it has recovered what it had committed."""
        options, log = f"-p {self.port} {_OPTIONS}", self.home / "log"
        try:
            self._tool("pg_ctl", "-w", "-t", "60", "-l", str(log), "-o", options, "start")
        except subprocess.CalledProcessError as fault:
            raise AssertionError(log.read_text()[-2000:]) from fault

    def restart(self) -> None:
        """As an administrator does it: everybody is thrown out, then it comes back."""
        self._tool("pg_ctl", "-m", "fast", "-w", "stop")
        self.start()

    def kill(self) -> None:
        """`kill -9` of the server and of every process it started, and wait until they are gone."""
        lock = self.home / "data" / "postmaster.pid"
        server = int(lock.read_text().split()[0])
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        pids = (server, *map(int, children))
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert all(has_ended(pid) for pid in pids)
        lock.unlink()  # a dead process that nobody has buried looks alive to the next server

    def cut(self) -> None:
        """Take it away from everybody: connections break, new ones are refused."""
        self._run(f'ALTER DATABASE "{NAME}" WITH ALLOW_CONNECTIONS false')
        self._throw_out()

    def give_back(self) -> None:
        """Let everybody in again."""
        self._run(f'ALTER DATABASE "{NAME}" WITH ALLOW_CONNECTIONS true')

    def copy(self, name: str) -> str:
        """The same again under another name; nobody may be connected while it is copied."""
        self.cut()
        try:
            self._run(f'CREATE DATABASE "{name}" TEMPLATE "{NAME}" TABLESPACE pg_default')
        finally:
            self.give_back()
        return self._address(name)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """As a standby is, or a primary that its keeper has fenced off."""
        self._run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        try:
            yield
        finally:
            writable = "SET default_transaction_read_only = off"
            self._run(writable, "ALTER SYSTEM RESET default_transaction_read_only")
            self._run("SELECT pg_reload_conf()")

    @contextmanager
    def out_of_connections(self) -> Iterator[None]:
        """Somebody else has every single connection."""
        taken: list[psycopg.Connection[object]] = []
        keeper = psycopg.connect(self._address("postgres"), autocommit=True)
        try:
            others = 1
            while others:
                keeper.execute(_THROW_OUT.encode(), [NAME])
                with suppress(psycopg.OperationalError):
                    while True:
                        taken.append(psycopg.connect(self._address("postgres")))
                found = keeper.execute(_OTHERS.encode(), [NAME]).fetchone()
                others = int(found[0]) if found else 0
            yield
        finally:
            for connection in (*taken, keeper):
                connection.close()

    @contextmanager
    def full(self) -> Iterator[None]:
        """Not a byte is left on its disk."""
        ballast = self._disk / "ballast"
        try:
            with ballast.open("wb", buffering=0) as written, suppress(OSError):
                while True:
                    written.write(bytes(4096))
            yield
        finally:
            ballast.unlink()

    @property
    def _disk(self) -> Path:
        return self.home / "small-disk"

    def _mount(self) -> bool:
        self._disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(self._disk)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        if mounted:
            self.small_disk = True
            as_other_user(self._disk)
        return mounted

    def _address(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def _throw_out(self) -> None:
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(_THROW_OUT.encode(), [NAME])

    def _run(self, *statements: str) -> None:
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            for sql in statements:
                connection.execute(sql.encode())

    def _tool(self, name: str, *arguments: str) -> None:
        command = [f"{postgresql_binaries()[0]}/{name}", "-D", str(self.home / "data")]
        subprocess.run(
            [*self._prefix, *command, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/"
        )


_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
_THROW_OUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


@dataclass(slots=True)
class Broker:
    """A Redis of our own on a port that stays the same."""

    scratch: Path
    port: int = field(default_factory=free_port)
    _server: Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is, or would be."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, empty."""
        self._server = start_redis(redis_binary()[0], self.port, self.scratch)

    def kill(self) -> None:
        """`kill -9`: every message in it is lost."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It holds its connections and says nothing."""
        assert self._server is not None
        self._server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._server.send_signal(signal.SIGCONT)
