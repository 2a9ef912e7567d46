"""The web server as a real process over the bench's database, and what it costs in CPU time."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from django.conf import settings
from django.db import connection

from tests.bench.measure import children_of, cpu_seconds
from tests.bench.wire import HungUp, Wire
from tests.gateway.world import INTENT, GatewayWorld
from tests.ops.environment import ROOT, bare_environment
from tests.ops.processes import free_port

FUNCTIONS = "tests.gateway.order_functions"
THREADS = 8
CALLS_PER_RUN = 190  # below the run's own budget of 200
START_SECONDS = 150.0  # on a busy machine
_NOWHERE = Path(os.devnull)
_DONE = b'"status":"ok"'  # a read that failed may be answered 200 as well


@dataclass(slots=True)
class Served:
    """A running gateway; `errors` counts every answer that was not 200, and every read that was
    answered but not made."""

    pid: int
    port: int
    token: str
    tenant_id: str
    errors: int = 0
    environment: str = "production"
    asked: Mapping[str, object] = field(default_factory=lambda: dict(_LOOKUP))
    _kept: threading.local = field(default_factory=threading.local)

    def lookup(self) -> None:
        """One governed read, over a connection and a run of this thread."""
        self._call(self.asked, expected=200, saying=_DONE)

    def write(self, body: Mapping[str, object]) -> None:
        """One governed write, taken for a worker."""
        self._call({**body, "idempotency_key": f"key-{uuid4().hex}"}, expected=202)

    def _call(self, body: Mapping[str, object], *, expected: int, saying: bytes = b"") -> None:
        made = getattr(self._kept, "made", 0)
        if made % CALLS_PER_RUN == 0:
            opened = self._post("/api/v1/runs", self._run(), expected=201)
            self._kept.run_id = json.JSONDecoder().decode(opened.decode())["run_id"]
        self._kept.made = made + 1
        asked = {**body, "run_id": self._kept.run_id}
        self._post("/api/v1/tool-calls", asked, expected=expected, saying=saying)

    def probe(self) -> None:
        """One answer that decides nothing, over the same connection."""
        self._send("GET", "/healthz", b"", expected=200)

    def cpu_seconds(self) -> float:
        """What the process that answers has used so far; its runners are others."""
        return cpu_seconds(self.pid, with_children=False)

    def cpu_seconds_with_runners(self) -> float:
        """The same, with the processes that functions run in."""
        return cpu_seconds(self.pid)

    def _run(self) -> dict[str, str]:
        return {"tenant_id": self.tenant_id, "intent": INTENT, "environment": self.environment}

    def _post(
        self, path: str, body: Mapping[str, object], *, expected: int, saying: bytes = b""
    ) -> bytes:
        text = json.dumps(body).encode()
        return self._send("POST", path, text, expected=expected, saying=saying)

    def _send(
        self, method: str, path: str, body: bytes, *, expected: int, saying: bytes = b""
    ) -> bytes:
        wire = self._wire()
        try:
            status, text = wire.ask(method, path, body)
        except HungUp:
            wire.close()  # the server ends what was silent for ten seconds
            status, text = wire.ask(method, path, body)
        if status != expected or saying not in text:
            self.errors += 1
        return text

    def _wire(self) -> Wire:
        if not hasattr(self._kept, "wire"):
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            self._kept.wire = Wire(self.port, headers)
        wire: Wire = self._kept.wire
        return wire


_LOOKUP: dict[str, object] = {
    "capability_id": "orders.lookup",
    "args": {"order_id": "ord_0001"},
}


@contextmanager
def served(
    world: GatewayWorld,
    *,
    functions: str = FUNCTIONS,
    log: Path = _NOWHERE,
    **more: str,
) -> Iterator[Served]:
    """`manage.py serve` until the block ends; `more` is said in its environment."""
    port, token = free_port(), world.agent_token  # issuing it makes the key that readiness asks for
    command = ["manage.py", "serve", "--port", str(port), "--threads", str(THREADS)]
    with log.open("ab") as said:
        server = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=served_environment(functions) | more,
            stdout=said,
            stderr=said,
        )
    try:
        _wait_until_ready(server, port)
        yield Served(_worker_of(server.pid), port, token, world.tenant_id)
    finally:
        server.terminate()
        server.wait(timeout=30)


def served_environment(functions: str = FUNCTIONS) -> dict[str, str]:
    """The same database and keys as this process has; no broker, reads need none."""
    given = urlsplit(os.environ["DATABASE_URL"])
    own = given._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    return bare_environment() | {
        "DATABASE_URL": own,
        "CONTEXTOS_DATA_DIR": str(settings.DATA_DIR),
        "CONTEXTOS_SECRET_KEY": settings.SECRET_KEY,
        "CONTEXTOS_FIELD_KEYS": ",".join(settings.FIELD_KEYS),
        "CONTEXTOS_FUNCTION_MODULES": functions,
    }


def _wait_until_ready(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        probe = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            probe.request("GET", "/readyz")
            if probe.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
        finally:
            probe.close()
    raise RuntimeError("the web server did not become ready")


def _worker_of(parent: int) -> int:
    """The process that answers: granian's only worker."""
    (worker,) = children_of(parent)
    return worker
