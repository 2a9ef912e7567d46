"""Time and size: slow drips, silence, floods and bombs all end where they should."""

import gzip
import threading
import time
import tracemalloc
import zlib

import pytest

from contextos.core.errors import ErrorKind
from contextos.net import OutboundClient, Response, Timeouts, open_client
from contextos.net.body import read_body
from tests.net.conftest import failure_of, local_rule
from tests.net.upstreams import Call, Handler, Upstream, answering, http_answer, upstream

DEADLINE = 0.4
PATIENCE = 2.0  # a deadline missed by this much is a deadline not kept


def client_of(server: Upstream, *, max_bytes: int = 1_000_000) -> OutboundClient:
    return open_client(local_rule(server.authority), max_bytes=max_bytes, deadline=DEADLINE)


def drip_headers(call: Call) -> None:
    call.read_request()
    call.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Slow: yes\r\n" * 1000, every=0.02)


def drip_body(call: Call) -> None:
    call.read_request()
    call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    call.drip(b"a" * 100_000, every=0.02)


def drip_chunks(call: Call) -> None:
    call.read_request()
    call.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    call.drip(b"1\r\na\r\n" * 1000, every=0.02)


def interim_answers(call: Call) -> None:
    call.read_request()
    while not call.upstream.stopping.wait(0.02):
        call.send(b"HTTP/1.1 102 Processing\r\n\r\n")


def silence(call: Call) -> None:
    call.read_request()
    call.upstream.stopping.wait(10)


def never_read(call: Call) -> None:
    call.upstream.stopping.wait(10)


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    "handler", [drip_headers, drip_body, drip_chunks, interim_answers, silence]
)
def test_the_deadline_ends_the_whole_exchange(handler: Handler) -> None:
    with upstream(handler) as server:
        client = client_of(server)
        started = time.monotonic()
        error = failure_of(lambda: client.request("GET", server.url))
        took = time.monotonic() - started
    assert (error.code, error.kind) == ("egress.deadline", ErrorKind.TIMEOUT)
    assert error.data["request_sent"] is True
    assert DEADLINE * 0.9 <= took < DEADLINE + PATIENCE


def test_the_deadline_ends_a_request_that_is_never_read() -> None:
    with upstream(never_read) as server:
        client = client_of(server)
        started = time.monotonic()
        payload = b"a" * 30_000_000
        error = failure_of(lambda: client.request("POST", server.url, content=payload))
        took = time.monotonic() - started
    assert (error.code, error.data["request_sent"]) == ("egress.deadline", True)
    assert took < DEADLINE + PATIENCE


def test_the_deadline_ends_a_request_that_is_read_too_slowly() -> None:
    def sip(call: Call) -> None:
        while not call.upstream.stopping.wait(0.05):
            call.connection.recv(1_000_000)

    with upstream(sip) as server:
        client = client_of(server)
        started = time.monotonic()
        payload = bytes(80_000_000)
        error = failure_of(lambda: client.request("POST", server.url, content=payload))
    assert error.code == "egress.deadline"
    assert time.monotonic() - started < DEADLINE + PATIENCE


def test_a_deadline_given_with_the_request_wins() -> None:
    with upstream(silence) as server:
        client = open_client(local_rule(server.authority), deadline=60)
        error = failure_of(lambda: client.request("GET", server.url, deadline=0.1))
    assert error.code == "egress.deadline"


def test_a_deadline_already_passed_dials_nobody(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    error = failure_of(lambda: client.request("GET", greeter.url, deadline=0))
    assert (error.code, error.data["request_sent"]) == ("egress.deadline", False)
    assert greeter.connections == 0


def test_redirects_share_one_deadline() -> None:
    def slow_redirect(call: Call) -> None:
        while call.read_request() and not call.upstream.stopping.wait(0.15):
            call.send(http_answer(b"", status="302 Found", headers="Location: /next\r\n"))

    with upstream(slow_redirect) as server:
        started = time.monotonic()
        client = client_of(server)
        error = failure_of(lambda: client.request("GET", server.url, follow=50))
    assert error.code == "egress.deadline"
    assert time.monotonic() - started < DEADLINE + PATIENCE


def test_a_read_timeout_is_told_apart_from_the_deadline() -> None:
    with upstream(silence) as server:
        client = open_client(local_rule(server.authority), timeouts=Timeouts(read=0.1))
        error = failure_of(lambda: client.request("GET", server.url))
    assert (error.code, error.data["phase"]) == ("egress.deadline", "read")


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    "answer",
    [
        http_answer(b"a" * 1001),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"a" * 1001,
        b"HTTP/1.0 200 OK\r\n\r\n" + b"a" * 1001,
        http_answer(gzip.compress(b"\0" * 1001), headers="Content-Encoding: gzip\r\n"),
        http_answer(gzip.compress(b"a") * 60, headers="Content-Encoding: gzip\r\n"),
    ],
    ids=["length", "announced", "chunked", "until_close", "inflated", "compressed_size"],
)
def test_an_answer_over_the_limit_is_refused(answer: bytes) -> None:
    with upstream(answering(answer)) as server:
        client = client_of(server, max_bytes=1000)
        error = failure_of(lambda: client.request("GET", server.url))
    assert (error.code, error.kind) == ("egress.too_large", ErrorKind.EGRESS)


def test_a_flood_is_cut_off_at_the_limit() -> None:
    sent = []

    def flood(call: Call) -> None:
        call.read_request()
        call.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not call.upstream.stopping.is_set():
            call.send(b"10000\r\n" + b"a" * 65536 + b"\r\n")
            sent.append(65536)

    with upstream(flood) as server:
        error = failure_of(lambda: client_of(server).request("GET", server.url))
    assert error.code == "egress.too_large"
    assert sum(sent) < 50_000_000


def bomb(megabytes: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    zeros = b"\0" * 1_000_000
    return b"".join(packer.compress(zeros) for _ in range(megabytes)) + packer.flush()


@pytest.mark.proves("C11")
def test_a_gzip_bomb_is_refused() -> None:
    answer = http_answer(bomb(50), headers="Content-Encoding: gzip\r\n")
    with upstream(answering(answer)) as server:
        client = open_client(local_rule(server.authority), max_bytes=1_000_000, deadline=5)
        error = failure_of(lambda: client.request("GET", server.url))
    assert error.code == "egress.too_large"


def test_a_gzip_bomb_is_never_inflated_in_memory() -> None:
    headers = (("content-encoding", "gzip"),)
    answer = Response(200, headers, b"", host="api.example", peer_ip="93.184.216.34")
    packed = bomb(50)
    tracemalloc.start()
    try:
        error = failure_of(lambda: read_body([packed], answer=answer, max_bytes=1_000_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.code == "egress.too_large"
    assert peak < 5_000_000


@pytest.mark.parametrize("size", [0, 1, 999, 1000])
def test_an_answer_up_to_the_limit_is_given_whole(size: int) -> None:
    plain, packed = b"a" * size, gzip.compress(b"a" * size)
    encoded = http_answer(packed, headers="Content-Encoding: gzip\r\n")
    with upstream(answering(http_answer(plain), encoded)) as server:
        client = client_of(server, max_bytes=1000)
        assert [client.request("GET", server.url).content for _ in range(2)] == [plain, plain]


def test_gzip_members_glued_together_are_one_answer() -> None:
    packed = gzip.compress(b"one") + gzip.compress(b"two")
    with upstream(answering(http_answer(packed, headers="Content-Encoding: gzip\r\n"))) as server:
        assert client_of(server).request("GET", server.url).content == b"onetwo"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"not gzip", "gzip"),
        (gzip.compress(b"whole")[:-6], "gzip"),
        (b"data", "br"),
        (gzip.compress(gzip.compress(b"data")), "gzip, gzip"),
    ],
    ids=["not packed", "cut short", "unknown packing", "packed twice"],
)
def test_an_answer_that_can_not_be_decoded_is_an_upstream_failure(
    body: bytes, encoding: str
) -> None:
    answer = http_answer(body, headers=f"Content-Encoding: {encoding}\r\n")
    with upstream(answering(answer)) as server:
        error = failure_of(lambda: client_of(server).request("GET", server.url))
    assert error.code == "egress.protocol"


def test_many_threads_each_keep_their_own_deadline() -> None:
    outcomes: list[str] = []

    def mixed(call: Call) -> None:
        while request := call.read_request():
            if request.startswith(b"GET /slow "):
                call.upstream.stopping.wait(10)
                return
            call.send(http_answer())

    def slow(client: OutboundClient, url: str) -> None:
        outcomes.append(failure_of(lambda: client.request("GET", url, deadline=0.3)).code)

    with upstream(mixed) as server:
        client = open_client(local_rule(server.authority), deadline=10)
        url = f"{server.url}/slow"
        threads = [threading.Thread(target=slow, args=(client, url)) for _ in range(8)]
        for thread in threads:
            thread.start()
        fast = [client.request("GET", server.url).status for _ in range(20)]
        for thread in threads:
            thread.join()
    assert fast == [200] * 20
    assert outcomes == ["egress.deadline"] * 8
