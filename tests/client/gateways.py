"""A gateway that follows a script: real HTTP on loopback, one step for each request."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from contextos_client import Client, Clock, Retry
from tests.net.upstreams import Call, Upstream, http_answer, upstream

Step = Callable[[Call], None]
RESULT: dict[str, Any] = {
    "envelope_version": "contextos.tool_result.v1",
    "tool_call_id": "tool_00000000000000000000000001",
    "run_id": "run_00000000000000000000000001",
    "trace_id": "0" * 31 + "1",
    "capability_id": "orders.lookup",
    "status": "ok",
    "policy_decision_id": None,
    "latency_ms": 3,
    "attempts": 1,
    "output": {"order_id": "ord_1001"},
    "replayed": False,
}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def result(status: str = "ok", *, kind: str = "", code: str = "x.y", **more: Any) -> dict[str, Any]:
    """A result envelope; with a kind it carries an error."""
    body = {**RESULT, "status": status, **more}
    if status != "ok":
        body["output"] = None
    if kind:
        body["error"] = {
            "kind": kind,
            "code": code,
            "message": "What happened.",
            "retryable": True,
            "remediation": "What to do.",
        }
    return body


def problem(status: int, kind: str, code: str, *, retryable: bool = True) -> dict[str, Any]:
    """Problem details as the gateway writes them."""
    return {
        "type": f"urn:contextos:error:{code}",
        "title": "A title",
        "status": status,
        "detail": "What happened.",
        "kind": kind,
        "code": code,
        "retryable": retryable,
        "remediation": "What to do.",
        "trace_id": "0" * 31 + "1",
    }


def says(body: Any, status: int = 200, headers: str = "", media: str = "application/json") -> Step:
    """Answer with this JSON."""
    head = f"Content-Type: {media}\r\ntraceparent: {TRACE}\r\n{headers}"
    content = http_answer(json.dumps(body).encode(), status=f"{status} Said", headers=head)
    return lambda call: call.send(content)


def raw(content: bytes) -> Step:
    """Send exactly these bytes."""
    return lambda call: call.send(content)


def drops(call: Call) -> None:
    """Hang up without a word, after the request was read in full."""
    raise ConnectionResetError


def hangs(call: Call) -> None:
    """Say nothing until the test ends."""
    call.upstream.stopping.wait(20)


def passing_on_to(gateway_url: str) -> Step:
    """Pass the request on to the real gateway, and its answer back."""
    return lambda call: call.send(_real_answer(gateway_url, call))


def losing_the_answer_of(gateway_url: str) -> Step:
    """Pass the request on to the real gateway, wait for its answer, and lose it."""

    def lose(call: Call) -> None:
        assert _real_answer(gateway_url, call).startswith(b"HTTP/1.1 20")
        raise ConnectionResetError

    return lose


def _real_answer(gateway_url: str, call: Call) -> bytes:
    host, _, port = gateway_url.removeprefix("http://").partition(":")
    request = call.upstream.requests[-1].replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    with socket.create_connection((host, int(port)), timeout=20) as gateway:
        gateway.sendall(request)
        return b"".join(iter(lambda: gateway.recv(65536), b""))


@dataclass
class Script:
    """The steps, and the requests that came."""

    steps: list[Step]
    server: Upstream | None = None
    _turn: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, call: Call) -> None:
        """Take a step for each request of a connection."""
        while call.read_request():
            with self._lock:
                step = self.steps[min(self._turn, len(self.steps) - 1)]
                self._turn += 1
            step(call)

    @property
    def url(self) -> str:
        """Where it listens."""
        if self.server is None:
            raise LookupError("the script is not being served")
        return self.server.url

    @property
    def requests(self) -> list[bytes]:
        """Every request in full."""
        return self.server.requests if self.server else []

    @property
    def bodies(self) -> list[Any]:
        """What was posted, request by request."""
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.requests]

    def headers(self, number: int = 0) -> dict[str, str]:
        """The headers of a request, by their names in lower case."""
        lines = self.requests[number].partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


@dataclass
class FakeTime:
    """A clock that moves only when somebody sleeps; remembers every pause."""

    moment: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.pauses.append(seconds)
        self.moment += seconds

    @property
    def clock(self) -> Clock:
        """This time, as a client takes it."""
        return Clock(now=lambda: self.moment, sleep=self.sleep)


@contextlib.contextmanager
def scripted(*steps: Step) -> Iterator[Script]:
    """Serve the steps; the last one for ever."""
    script = Script(list(steps))
    with upstream(script.serve) as server:
        script.server = server
        yield script


def client_of(
    script: Script, time: FakeTime | None = None, *, attempts: int = 3, timeout: float = 5.0
) -> Client:
    """A client that asks the script and never really sleeps."""
    clock = (time or FakeTime()).clock
    return Client(
        script.url, "agent-token", timeout=timeout, retry=Retry(attempts=attempts), clock=clock
    )
