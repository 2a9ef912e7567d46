"""A database and a broker that a test may take away and give back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from urllib.parse import urlsplit

import psycopg

from scripts.with_services import redis_binary, start_redis
from tests.ops.processes import free_port


@dataclass(slots=True)
class Database:
    """A PostgreSQL database of our own beside the one that was given."""

    given: str
    name: str = field(default_factory=lambda: f"faults_{os.getpid()}")

    @property
    def url(self) -> str:
        """Where it is."""
        return urlsplit(self.given)._replace(path=f"/{self.name}").geturl()

    def create(self) -> None:
        """Begin with nothing."""
        self._run(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')
        self._run(f'CREATE DATABASE "{self.name}"')

    def cut(self) -> None:
        """Take it away from everybody: connections break, new ones are refused."""
        self._run(f'ALTER DATABASE "{self.name}" WITH ALLOW_CONNECTIONS false')
        ours = "datname = %s AND pid <> pg_backend_pid()"
        self._run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}", self.name)

    def give_back(self) -> None:
        """Let everybody in again."""
        self._run(f'ALTER DATABASE "{self.name}" WITH ALLOW_CONNECTIONS true')

    def drop(self) -> None:
        """Leave nothing behind."""
        self._run(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')

    def _run(self, sql: str, *parameters: str) -> None:
        with psycopg.connect(self.given, autocommit=True) as connection:
            connection.execute(sql.encode(), parameters)


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
