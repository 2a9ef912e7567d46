"""Real receivers on loopback: syslog over TCP, TLS and UDP; they can die and come back."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_LINE = re.compile(rb"(\d+) ")


@dataclass
class Collector:
    """Reads octet-counted lines until the sender has ended, then closes, as rsyslog does."""

    tls: ssl.SSLContext | None = None
    port: int = 0
    lines: list[bytes] = field(default_factory=list)
    dies_after: int | None = None  # lines; then the connection is dropped with the rest unread

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), reuse_port=False)
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError, DeadError):
                self._read(connection)

    def _read(self, plain: socket.socket) -> None:
        with contextlib.closing(plain):
            connection: Any = self.tls.wrap_socket(plain, server_side=True) if self.tls else plain
            held = b""
            while part := connection.recv(512):
                held = self._taken(held + part, plain)
            if self.tls:
                connection.unwrap()

    def _taken(self, held: bytes, plain: socket.socket) -> bytes:
        while (match := _LINE.match(held)) and len(held) >= match.end() + int(match[1]):
            if self.dies_after is not None and len(self.lines) >= self.dies_after:
                raise DeadError
            end = match.end() + int(match[1])
            self.lines.append(held[match.end() : end])
            held = held[end:]
        return held


class DeadError(Exception):
    """The process is gone; the kernel closes what it had open."""


@contextlib.contextmanager
def collecting(**how: Any) -> Iterator[Collector]:
    """A receiver for the length of a test."""
    collector = Collector(**how)
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()


@contextlib.contextmanager
def datagrams() -> Iterator[tuple[int, list[bytes]]]:
    """A UDP receiver: its port and what came."""
    found: list[bytes] = []
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(0.2)
    done = threading.Event()

    def _receive() -> None:
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                found.append(receiver.recv(65535))

    thread = threading.Thread(target=_receive, daemon=True)
    thread.start()
    try:
        yield receiver.getsockname()[1], found
    finally:
        done.set()
        thread.join(2)
        receiver.close()
