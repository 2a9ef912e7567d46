"""A real HTTP receiver on loopback that keeps what it was sent and answers as told."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "a-secret-of-many-Characters-0123456789"


@dataclass
class Received:
    """One request, byte for byte."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.JSONDecoder().decode(self.body.decode()))

    def is_signed_with(self, secret: str) -> bool:
        """As docs/reference/webhooks.md tells receivers to check."""
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode()
        mac = hmac.new(secret.encode(), signed + self.body, hashlib.sha256).digest()
        return self.headers["webhook-signature"] == f"v1,{base64.b64encode(mac).decode()}"

    @property
    def bytes(self) -> bytes:
        return repr((self.path, self.headers)).encode() + self.body


@dataclass
class Receiver:
    """`answers` are used up first, then 204."""

    port: int = 0
    requests: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/in"

    def take(self, request: Received) -> int:
        with self.lock:
            self.requests.append(request)
            return self.answers.pop(0) if self.answers else 204


@contextmanager
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = kept.take(Received(self.path, headers, self.rfile.read(length)))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST  # noqa: N815  the name that the server looks for

        def log_message(self, *_: Any) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
