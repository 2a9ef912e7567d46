"""The client: requests go out as asked, answers come back whole, failures are coded."""

import logging
import socket
import struct
from typing import Any

import pytest

from contextos.core.errors import ContextOSError, ErrorKind
from contextos.net import EgressRule, Timeouts, open_client
from tests.net.conftest import FixedResolver, failure_of, local_rule
from tests.net.upstreams import Call, Upstream, answering, http_answer, upstream

SECRET = "s3cr3t-t0k3n"


@pytest.mark.proves("C11")
def test_an_allowed_private_host_answers_in_development(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    answer = client.request("GET", f"{greeter.url}/path?x=1", headers={"X-Custom": "yes"})
    assert (answer.status, answer.content) == (200, b"ok")
    assert (answer.host, answer.peer_ip) == ("127.0.0.1", "127.0.0.1")
    assert answer.header("Content-Length") == "2"
    assert answer.header("missing", "default") == "default"
    assert 0 <= answer.elapsed_ms < 5000
    assert not answer.via_proxy
    assert greeter.requests[0].startswith(b"GET /path?x=1 HTTP/1.1\r\n")
    assert b"X-Custom: yes\r\n" in greeter.requests[0]


def test_the_host_header_keeps_the_name_while_the_address_is_dialled(greeter: Upstream) -> None:
    resolver = FixedResolver(api_example=["127.0.0.1"])
    client = open_client(local_rule(f"api.example:{greeter.port}"), resolver=resolver)
    answer = client.request("GET", f"http://API.example:{greeter.port}/")
    assert (answer.host, answer.peer_ip) == ("api.example", "127.0.0.1")
    assert f"Host: api.example:{greeter.port}\r\n".encode() in greeter.requests[0]


@pytest.mark.proves("C11")
def test_plain_http_is_refused_where_https_is_required(greeter: Upstream) -> None:
    rule = EgressRule(hosts=(greeter.authority,), allow_private=True)
    error = failure_of(lambda: open_client(rule).request("GET", greeter.url))
    assert error.code == "egress.https_required"
    assert greeter.connections == 0


def test_json_is_sent_with_its_type_and_length(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    client.request("POST", greeter.url, json={"amount": 5, "note": "ü"})
    head, _, body = greeter.requests[0].partition(b"\r\n\r\n")
    assert body == '{"amount":5,"note":"ü"}'.encode()
    assert b"Content-Type: application/json" in head
    assert f"Content-Length: {len(body)}".encode() in head


def test_a_post_without_a_body_says_so(greeter: Upstream) -> None:
    open_client(local_rule(greeter.authority)).request("POST", greeter.url)
    assert b"Content-Length: 0\r\n" in greeter.requests[0]


def test_a_large_body_arrives_whole(greeter: Upstream) -> None:
    payload = bytes(range(256)) * 8192
    open_client(local_rule(greeter.authority)).request("PUT", greeter.url, content=payload)
    assert greeter.requests[0].endswith(payload)


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_an_answer_without_a_body_leaves_its_connection_usable(method: str) -> None:
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    with upstream(answering(head if method == "HEAD" else empty)) as server:
        client = open_client(local_rule(server.authority))
        assert [client.request(method, server.url).content for _ in range(3)] == [b""] * 3
        assert server.connections == 1


def test_an_error_status_is_an_answer_and_not_a_failure() -> None:
    with upstream(answering(http_answer(b"no", status="503 Busy"))) as server:
        answer = open_client(local_rule(server.authority)).request("GET", server.url)
    assert (answer.status, answer.content) == (503, b"no")


def test_cookies_are_not_kept_between_calls() -> None:
    with upstream(answering(http_answer(headers="Set-Cookie: session=abc\r\n"))) as server:
        client = open_client(local_rule(server.authority))
        for _ in range(2):
            client.request("GET", server.url)
        assert not any(b"cookie" in request.lower() for request in server.requests)


def test_the_environment_sets_no_proxy_and_no_credentials(
    greeter: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    client = open_client(local_rule(greeter.authority))
    assert client.request("GET", greeter.url).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Custom": "a\r\nX-Injected: 1"},
        {"X-Custom": "a\nb"},
        {"X-Custom": "a\x00b"},
        {"X-Custom": "snow\u2603"},
        {"X-Cus\r\ntom": "a"},
        {"X Custom": "a"},
        {"": "a"},
        {"X-Custom:": "a"},
        {"Host": "169.254.169.254"},
        {"host": "evil.example"},
        {"Content-Length": "5"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "Upgrade"},
        {"Upgrade": "websocket"},
        {"Proxy-Authorization": "Basic x"},
        {"Accept-Encoding": "br"},
        {"Expect": "100-continue"},
    ],
)
def test_a_header_that_could_smuggle_is_refused(
    headers: dict[str, str], greeter: Upstream, dials: list[Any]
) -> None:
    client = open_client(local_rule(greeter.authority))
    error = failure_of(lambda: client.request("GET", greeter.url, headers=headers))
    assert error.code == "egress.request_invalid"
    assert dials == []


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET /x HTTP/1.1\r\n\r\nGET", "", "G T"])
def test_a_method_that_is_none_is_refused(method: str, greeter: Upstream, dials: list[Any]) -> None:
    client = open_client(local_rule(greeter.authority))
    error = failure_of(lambda: client.request(method, greeter.url))
    assert (error.code, dials) == ("egress.request_invalid", [])


@pytest.mark.parametrize("body", [{"json": float("nan")}, {"json": object()}])
def test_a_body_that_is_no_json_is_refused(body: dict[str, Any], greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    error = failure_of(lambda: client.request("POST", greeter.url, **body))
    assert error.code == "egress.request_invalid"


def test_content_and_json_together_are_refused(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    error = failure_of(lambda: client.request("POST", greeter.url, content=b"x", json={}))
    assert error.code == "egress.request_invalid"


def test_a_refused_connection_is_upstream_and_not_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        authority = f"127.0.0.1:{listener.getsockname()[1]}"
    error = failure_of(
        lambda: open_client(local_rule(authority)).request("GET", f"http://{authority}")
    )
    assert error.code == "egress.connect_failed"
    assert error.kind is ErrorKind.UPSTREAM
    assert error.data["request_sent"] is False
    assert "refused" in error.message


def test_a_reset_in_the_middle_of_the_body_is_upstream_and_sent() -> None:
    def reset(call: Call) -> None:
        call.read_request()
        call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart")
        linger = struct.pack("ii", 1, 0)
        call.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    with upstream(reset) as server:
        client = open_client(local_rule(server.authority))
        error = failure_of(lambda: client.request("POST", server.url, json={}))
    assert error.code == "egress.protocol"
    assert error.kind is ErrorKind.UPSTREAM
    assert error.data["request_sent"] is True


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-Filler: " + b"a" * 200_000 + b"\r\n\r\n",
    ],
)
def test_an_answer_that_breaks_the_protocol_is_an_upstream_failure(answer: bytes) -> None:
    def once(call: Call) -> None:
        call.read_request()
        call.send(answer)

    with upstream(once) as server:
        client = open_client(local_rule(server.authority))
        error = failure_of(lambda: client.request("GET", server.url))
    assert error.code == "egress.protocol"


def test_a_request_after_a_broken_one_gets_a_new_connection() -> None:
    turns = iter([b"garbage\r\n\r\n", http_answer()])

    def handle(call: Call) -> None:
        if call.read_request():
            call.send(next(turns))

    with upstream(handle) as server:
        client = open_client(local_rule(server.authority))
        failure_of(lambda: client.request("GET", server.url))
        assert client.request("GET", server.url).content == b"ok"


@pytest.mark.proves("C7")
def test_no_secret_of_an_answer_shows_in_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with upstream(answering(http_answer(headers=f"Set-Cookie: id={SECRET}\r\n"))) as server:
        answer = open_client(local_rule(server.authority)).request("GET", server.url)
    assert answer.header("set-cookie") == f"id={SECRET}"
    assert SECRET not in f"{answer!r} {caplog.text}"


@pytest.mark.proves("C7")
def test_no_secret_of_a_request_shows_in_errors_or_logs(
    greeter: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": f"Bearer {SECRET}"}
    url = f"{greeter.url}/hook/{SECRET}?key={SECRET}"
    client = open_client(local_rule(greeter.authority))
    answer = client.request("POST", url, headers=headers, content=SECRET.encode())
    denied = open_client(local_rule("other.example"))
    error = failure_of(lambda: denied.request("POST", url, headers=headers))
    with upstream(lambda call: None) as silent:
        broken_client = open_client(local_rule(silent.authority), timeouts=Timeouts(read=1))
        broken_url = f"{silent.url}/{SECRET}?{SECRET}"
        broken = failure_of(lambda: broken_client.request("GET", broken_url, headers=headers))
    shown = f"{answer!r} {_everything(error)} {_everything(broken)} {caplog.text}"
    assert SECRET not in shown


def _everything(error: ContextOSError) -> str:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return " ".join(f"{link!r} {link!s}" for link in chain) + repr(dict(error.data))
