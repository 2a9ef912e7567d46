"""A REST service on loopback, and the function of our adapter that asks it."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gateway.functions import Call, function
from tests.ops.environment import ROOT
from tests.ops.processes import free_port

MODULE = "tests.bench.rest_upstream"
ORDER = b'{"order_id":"ord_0001","status":"delivered"}'
# A runner gets no environment, so the port is written where it looks.
_PORT_FILE = ROOT / "build" / "bench-upstream-port"
_kept: dict[str, http.client.HTTPConnection] = {}


class _Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body at once: apart, the second waits 40 ms for a receipt

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ORDER)))
        self.end_headers()
        self.wfile.write(ORDER)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@function("examples.orders:lookup")
def lookup(args: dict[str, Any], call: Call) -> Any:
    """The same question that the other gateway's tool asks, over a kept connection."""
    import orjson

    if "upstream" not in _kept:
        _kept["upstream"] = http.client.HTTPConnection("127.0.0.1", int(_PORT_FILE.read_text()))
    headers = {"Content-Type": "application/json"}
    _kept["upstream"].request("POST", "/lookup", orjson.dumps(args), headers)
    return orjson.loads(_kept["upstream"].getresponse().read())


@contextmanager
def rest_upstream() -> Iterator[str]:
    """Its address, while it runs in a process of its own."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", MODULE, str(port)], cwd=ROOT)
    try:
        _wait_for(port)
        _PORT_FILE.write_text(str(port))
        yield f"http://127.0.0.1:{port}/lookup"
    finally:
        _PORT_FILE.unlink(missing_ok=True)
        server.terminate()
        server.wait(timeout=10)


def _wait_for(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        probe = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        with suppress(OSError):
            probe.request("POST", "/lookup", b"{}")
            if probe.getresponse().status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError("the REST service did not start")


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Orders).serve_forever()
