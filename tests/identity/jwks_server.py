"""A real HTTP server on loopback that serves an issuer's keys and counts who asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from contextos.core import strict_json


class JwksServer(ThreadingHTTPServer):
    """Answers every path with `document`, or with `status` alone if that is not 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.document: Any = {"keys": []}
        self.raw: bytes | None = None
        self.status = 200
        self.headers: dict[str, str] = {}
        self.requests = 0

    @property
    def url(self) -> str:
        """Where the keys are."""
        return f"http://127.0.0.1:{self.server_address[1]}/jwks.json"


class _Handler(BaseHTTPRequestHandler):
    server: JwksServer

    def do_GET(self) -> None:
        self.server.requests += 1
        body = self.server.raw
        if body is None:
            body = strict_json.dumps(self.server.document).encode()
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""


@contextmanager
def serving() -> Iterator[JwksServer]:
    """The server, for as long as the block lasts."""
    with JwksServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
