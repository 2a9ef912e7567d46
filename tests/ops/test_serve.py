"""The web server as a real process: ports, endings, its log."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from contextos.core import strict_json
from contextos.serve import PortTakenError, refuse_taken_port
from tests.ops.environment import bare_environment, manage, run
from tests.ops.processes import (
    free_port,
    has_ended,
    started,
    wait_until_listening,
    wait_until_refused,
)

SLOW_SERVER = (
    "import sys; from contextos.serve import ServerPlan, serve; "
    "serve(ServerPlan(port=int(sys.argv[1]), target='tests.ops.slow_app:application'))"
)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return bare_environment() | {"CONTEXTOS_DATA_DIR": str(tmp_path)}


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        # As granian does it: without our own look two servers would share the port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def _get(port: int, path: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())
    finally:
        connection.close()


@pytest.mark.live
def test_a_taken_port_is_refused_before_anything_starts(
    environment: dict[str, str], taken_port: int
) -> None:
    outcome = run(manage("serve", "--port", str(taken_port)), environment)
    assert outcome.returncode == 2
    assert re.fullmatch(rf"CommandError: port {taken_port} can't be used .*\n", outcome.stderr)


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [("127.0.0.1", 70000, "does not exist"), ("no.such.host.invalid", 8000, "no address")],
)
def test_an_address_that_cannot_exist_is_explained(host: str, port: int, words: str) -> None:
    with pytest.raises(PortTakenError, match=words):
        refuse_taken_port(host, port)


def test_a_free_port_is_not_refused() -> None:
    refuse_taken_port("127.0.0.1", free_port())


@pytest.mark.live
@pytest.mark.parametrize("flags", [[], ["--asgi"]])
def test_it_serves_logs_in_our_form_and_ends_on_sigterm(
    environment: dict[str, str], flags: list[str]
) -> None:
    port = free_port()
    with started(manage("serve", "--port", str(port), *flags), environment) as server:
        wait_until_listening(server, port)
        status, body, headers = _get(port, "/healthz?token=s3cr3t")
        metrics, _, _ = _get(port, "/metrics")
        server.send_signal(signal.SIGTERM)
        output, log = server.communicate(timeout=30)
    assert (status, body, server.returncode) == (200, b'{"status": "ok"}', 0)
    assert metrics == 200  # the server tells loopback callers apart
    assert headers["x-request-id"].startswith("req_")
    records = [strict_json.loads_object(line) for line in log.splitlines()]
    lines = [record for record in records if record["event"] == "request"]
    assert [line["route"] for line in lines] == ["/healthz", "/metrics"]
    assert any(record["logger"] == "_granian" for record in records)
    assert "s3cr3t" not in log + output
    assert output == ""


@pytest.mark.live
def test_a_request_in_flight_is_finished_before_the_end(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("began", "go"):
        os.mkfifo(tmp_path / name)
    port = free_port()
    answers: list[tuple[int, bytes, dict[str, str]]] = []
    command = ["-c", SLOW_SERVER, str(port)]
    with started(command, environment | {"SLOW_APP_FOLDER": str(tmp_path)}) as server:
        wait_until_listening(server, port)
        caller = threading.Thread(target=lambda: answers.append(_get(port, "/")))
        caller.start()
        (tmp_path / "began").read_bytes()
        server.send_signal(signal.SIGTERM)
        wait_until_refused(server, port)
        (tmp_path / "go").write_bytes(b"1")
        caller.join(timeout=30)
        server.communicate(timeout=30)
    assert [(status, body) for status, body, _ in answers] == [(200, b"127.0.0.1")]
    assert server.returncode == 0


@pytest.mark.live
def test_strangers_who_never_send_their_form_hold_up_nobody_else(
    environment: dict[str, str],
) -> None:
    port = free_port()
    begun = (
        b"POST /admin/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: csrftoken=%s\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 500\r\n\r\na"
    ) % (b"a" * 32)
    with (
        started(manage("serve", "--port", str(port), "--threads", "4"), environment) as server,
        ExitStack() as sockets,
    ):
        wait_until_listening(server, port)
        for _ in range(8):
            stranger = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
            stranger.sendall(begun)
        assert _get(port, "/healthz")[0] == 200


@pytest.mark.live
def test_it_speaks_the_protocol_whose_sockets_the_doorkeeper_counts(
    environment: dict[str, str],
) -> None:
    port = free_port()
    with started(manage("serve", "--port", str(port)), environment) as server:
        wait_until_listening(server, port)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as asking:
            asking.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
            assert not asking.recv(100).startswith(b"\0")  # no frame: HTTP/1 refuses it


@pytest.mark.live
def test_a_killed_server_leaves_no_worker_behind(environment: dict[str, str]) -> None:
    port = free_port()
    with started(manage("serve", "--port", str(port)), environment) as server:
        wait_until_listening(server, port)
        _get(port, "/healthz")
        worker = _only_child_of(server.pid)
        server.kill()
        assert has_ended(worker)


def _only_child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    assert len(children) == 1
    return int(children[0])
