"""The load tool's own HTTP: requests written once, answers read by their length, one connection.

It shares two cores with what it measures, so it may cost next to nothing itself.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ ]*([0-9]+)", re.IGNORECASE)
_LAST_CHUNK = b"0\r\n\r\n"
_AT_ONCE = 1 << 16


def _joined(chunks: bytes) -> bytes:
    """The text of an answer whose length nobody knew when it began."""
    text, rest = b"", chunks
    while rest != _LAST_CHUNK:
        size, _, rest = rest.partition(b"\r\n")
        text, rest = text + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return text


class HungUp(Exception):  # noqa: N818  named for what happened
    """The server closed the connection before it answered."""


@dataclass(slots=True)
class Wire:
    """One kept connection; it is opened by the first request, and again after `close`."""

    port: int
    headers: dict[str, str]
    _socket: socket.socket | None = field(default=None, init=False)

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the answer."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()
        try:
            self._opened().sendall(head + body)
            return self._answer()
        except (BrokenPipeError, ConnectionResetError) as fault:
            raise HungUp from fault

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _opened(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _answer(self) -> tuple[int, bytes]:
        received = self._more()
        while _END_OF_HEAD not in received:
            received += self._more()
        head, _, body = received.partition(_END_OF_HEAD)
        length = _LENGTH.search(head)
        while not (len(body) >= int(length[1]) if length else body.endswith(_LAST_CHUNK)):
            body += self._more()
        return int(head[9:12]), body if length else _joined(body)

    def _more(self) -> bytes:
        part = self._opened().recv(_AT_ONCE)
        if not part:
            raise HungUp
        return part
