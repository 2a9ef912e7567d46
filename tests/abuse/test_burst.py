"""Two thousand sockets at once: every one gets an answer, and soon all is as before."""

from __future__ import annotations

import fcntl
import os
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from contextos.admission import OPEN_PER_THREAD, Doorkeeper
from gateway.connectors.function.frames import OutOfTime, Patience, read_frame, write_frame
from tests.abuse.sockets import Verdict, burst, request_text, summed_up
from tests.bench.served import CALLS_PER_RUN, Served, served
from tests.gateway.world import GatewayWorld

SOCKETS = 2_000
NORMAL_AGAIN_SECONDS = 10.0
CALM_CALLS = 5
SERVED_AT_LEAST = 100  # some five hundred are; far fewer would mean that nearly all are sent off
ALLOWED = {200, 429, 503}


@pytest.fixture
def world(transactional_db: None) -> GatewayWorld:
    if connection.vendor != "postgresql":
        pytest.skip("the served product needs a database that two processes can write to")
    return GatewayWorld()


def _requests(world: GatewayWorld, product: Served) -> list[bytes]:
    """Governed reads over as many runs as their budget asks for."""
    runs = [world.open_run()["run_id"] for _ in range(SOCKETS // CALLS_PER_RUN + 1)]
    bodies = [{**product.asked, "run_id": runs[i % len(runs)]} for i in range(SOCKETS)]
    path = "/api/v1/tool-calls"
    return [request_text(product.port, product.token, path, body) for body in bodies]


def _seconds_until_normal(product: Served, since: float) -> float:
    """When a few calls in a row were answered 200 again; each asks once and anew."""
    in_a_row, until = 0, since + 6 * NORMAL_AGAIN_SECONDS
    while in_a_row < CALM_CALLS and time.monotonic() < until:
        errors = product.errors
        product.lookup()
        in_a_row = in_a_row + 1 if product.errors == errors else 0
    return time.monotonic() - since


@pytest.mark.live
def test_two_thousand_sockets_all_get_an_answer_and_soon_all_is_as_before(
    world: GatewayWorld, tmp_path: Path
) -> None:
    log = tmp_path / "web.log"
    with served(world, log=log) as product:
        product.lookup()
        requests = _requests(world, product)
        began = time.monotonic()
        verdicts, sent = burst(product.port, requests)
        answered = time.monotonic()
        normal = _seconds_until_normal(product, sent)
        alive = Path(f"/proc/{product.pid}").exists()
    ends = summed_up(verdicts)
    told = f"{dict(ends)}; sent {sent - began:.1f} s, answered {answered - began:.1f} s"
    print(f"\nburst: {told}; normal {normal:.1f} s after the last was sent")  # noqa: T201
    assert {verdict.status for verdict in verdicts} <= ALLOWED, told
    assert all(verdict.names_a_time for verdict in verdicts if verdict.status != 200), told
    assert ends["200"] >= SERVED_AT_LEAST, told
    assert alive
    assert normal <= NORMAL_AGAIN_SECONDS, told
    assert "Traceback" not in log.read_text()


def test_a_function_is_heard_though_a_thousand_sockets_are_open() -> None:
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    reads, writes = os.pipe()
    high = fcntl.fcntl(reads, fcntl.F_DUPFD, 1500)
    try:
        write_frame(writes, {"heard": True})
        assert read_frame(high, patience=Patience(time.monotonic() + 5)) == {"heard": True}
        with pytest.raises(OutOfTime):
            read_frame(high, patience=Patience(time.monotonic() + 0.01))
    finally:
        for descriptor in (reads, writes, high):
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))


class _Start:
    """What a WSGI server is told."""

    def __call__(self, status: str, headers: list[tuple[str, str]]) -> None:
        self.status, self.headers = int(status.split()[0]), dict(headers)


def _inner(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [])
    return [b"served"]


@pytest.mark.parametrize(
    ("path", "content_type"),
    [("/api/v1/tool-calls", "application/json"), ("/api/v1/runs", "application/problem+json")],
)
def test_a_full_house_with_a_crowd_outside_says_when_to_come_back(
    monkeypatch: pytest.MonkeyPatch, path: str, content_type: str
) -> None:
    monkeypatch.setattr("contextos.admission.open_files", lambda: OPEN_PER_THREAD + 1)
    said = _Start()
    body = Doorkeeper(_inner, threads=1)({"PATH_INFO": path}, said)
    assert (said.status, said.headers["Retry-After"]) == (503, "2")
    assert said.headers["Content-Type"] == content_type
    assert b"service.crowded" in next(iter(body))


@pytest.mark.parametrize(
    ("threads", "opened", "path"),
    [(2, 9_999, "/api/v1/runs"), (1, OPEN_PER_THREAD, "/api/v1/runs"), (1, 9_999, "/healthz")],
    ids=["a thread is free", "few wait", "a probe"],
)
def test_nobody_else_is_turned_away(
    monkeypatch: pytest.MonkeyPatch, threads: int, opened: int, path: str
) -> None:
    monkeypatch.setattr("contextos.admission.open_files", lambda: opened)
    said, keeper = _Start(), Doorkeeper(_inner, threads=threads)
    for _ in range(3):  # each one leaves again
        assert list(keeper({"PATH_INFO": path}, said)) == [b"served"]
        assert said.status == 200


def test_only_as_many_are_turned_away_as_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("contextos.admission.open_files", lambda: OPEN_PER_THREAD + 3)
    monkeypatch.setattr("contextos.admission._LOOK_EVERY_SECONDS", 3_600)
    keeper, ends = Doorkeeper(_inner, threads=1), []
    for _ in range(6):
        said = _Start()
        list(keeper({"PATH_INFO": "/api/v1/runs"}, said))
        ends.append(said.status)
    assert ends == [503, 503, 503, 200, 200, 200]


def test_forms_that_never_come_leave_half_of_the_threads_to_others() -> None:
    reading, go = threading.Barrier(3), threading.Event()

    def reads_forms(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/slow":
            reading.wait(10)
            go.wait(10)
        return _inner(environ, start_response)

    def asked(path: str, length: str = "") -> int:
        said = _Start()
        list(keeper({"PATH_INFO": path, "CONTENT_LENGTH": length}, said))
        return said.status

    keeper = Doorkeeper(reads_forms, threads=4)
    with ThreadPoolExecutor() as callers:
        slow = [callers.submit(asked, "/slow", "500") for _ in range(2)]
        reading.wait(10)
        assert asked("/admin/login/", "20") == 503
        assert asked("/admin/login/") == asked("/api/v1/tool-calls", "20") == 200
        go.set()
        assert [each.result() for each in slow] == [200, 200]
    assert asked("/admin/login/", "20") == 200


def test_a_verdict_without_an_answer_counts_as_none() -> None:
    assert summed_up([Verdict(fault="ConnectionResetError"), Verdict(503)]) == {
        "ConnectionResetError": 1,
        "503": 1,
    }
