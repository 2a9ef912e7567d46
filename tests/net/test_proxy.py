"""The egress proxy: used when set, judged before, never trusted to choose the target."""

import base64
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextos.net import EgressRule, build_tls_context, open_client
from contextos.net.proxy import parse_proxy
from tests.net.certificates import Authority
from tests.net.conftest import FixedResolver, failure_of
from tests.net.upstreams import Call, Upstream, answering, http_answer, upstream

PUBLIC = FixedResolver(api_example=["93.184.216.34"])


@pytest.fixture
def forward_proxy() -> Iterator[Upstream]:
    """A proxy that answers plain requests itself, as if it had asked the target."""
    with upstream(answering(http_answer(b"by proxy"))) as server:
        yield server


def tunnel_to(port: int) -> Any:
    """A CONNECT proxy that carries bytes to a local port, whatever name was asked for."""

    def handle(call: Call) -> None:
        call.read_request()
        with socket.create_connection(("127.0.0.1", port)) as onward:
            call.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=copy, args=(onward, call.connection), daemon=True)
            back.start()
            copy(call.connection, onward)

    def copy(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            return

    return handle


@pytest.mark.proves("C11")
def test_plain_requests_go_through_the_proxy(forward_proxy: Upstream) -> None:
    rule = EgressRule(hosts=("api.example",), https_required=False)
    client = open_client(rule, proxy=forward_proxy.url, resolver=PUBLIC)
    answer = client.request("GET", "http://api.example/x")
    assert (answer.content, answer.host) == (b"by proxy", "api.example")
    assert (answer.via_proxy, answer.peer_ip) == (True, "127.0.0.1")
    assert forward_proxy.requests[0].startswith(b"GET http://api.example:80/x HTTP/1.1\r\n")
    assert b"Host: api.example\r\n" in forward_proxy.requests[0]


@pytest.mark.proves("C11")
def test_https_passes_the_proxy_in_a_tunnel_and_stays_verified(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = build_tls_context(ca_file=authority.file)
    rule = EgressRule(hosts=("api.example",))
    headers = {"Authorization": "Bearer secret"}
    with (
        upstream(answering(http_answer()), authority.server_context("api.example")) as server,
        upstream(tunnel_to(server.port)) as proxy,
    ):
        client = open_client(rule, proxy=proxy.url, tls=tls, resolver=PUBLIC)
        answer = client.request("GET", "https://api.example/x", headers=headers)
    assert answer.content == b"ok"
    assert proxy.requests[0].startswith(b"CONNECT api.example:443 HTTP/1.1\r\n")
    assert b"secret" not in b"".join(proxy.requests)
    assert b"Host: api.example\r\n" in server.requests[0]


def test_a_tunnel_to_the_wrong_host_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = build_tls_context(ca_file=authority.file)
    with (
        upstream(answering(http_answer()), authority.server_context("evil.example")) as server,
        upstream(tunnel_to(server.port)) as proxy,
    ):
        rule = EgressRule(hosts=("api.example",))
        client = open_client(rule, proxy=proxy.url, tls=tls, resolver=PUBLIC)
        error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert (error.code, error.data["request_sent"]) == ("egress.tls", False)


@pytest.mark.proves("C11")
@pytest.mark.parametrize("answer", ["10.0.0.1", "169.254.169.254", "::1"])
def test_the_target_is_judged_before_the_proxy_is_asked(
    answer: str, forward_proxy: Upstream
) -> None:
    rule = EgressRule(hosts=("api.example",), https_required=False)
    resolver = FixedResolver(api_example=[answer])
    client = open_client(rule, proxy=forward_proxy.url, resolver=resolver)
    error = failure_of(lambda: client.request("GET", "http://api.example/"))
    assert error.code == "egress.private_address"
    assert forward_proxy.connections == 0


def test_the_private_address_of_the_proxy_opens_no_other(forward_proxy: Upstream) -> None:
    rule = EgressRule(hosts=(forward_proxy.authority,), https_required=False)
    client = open_client(rule, proxy=forward_proxy.url)
    error = failure_of(lambda: client.request("GET", forward_proxy.url))
    assert error.code == "egress.private_address"
    assert forward_proxy.connections == 0


def test_a_proxy_that_says_no_is_reported_as_such() -> None:
    rule = EgressRule(hosts=("api.example",))
    with upstream(answering(http_answer(status="403 Forbidden"))) as proxy:
        client = open_client(rule, proxy=proxy.url, resolver=PUBLIC)
        error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert (error.code, error.data["request_sent"]) == ("egress.proxy", False)


def test_a_proxy_on_a_metadata_address_is_not_dialled(dials: list[Any]) -> None:
    rule = EgressRule(hosts=("api.example",))
    client = open_client(rule, proxy="http://169.254.169.254:80", resolver=PUBLIC)
    error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert (error.code, dials) == ("egress.private_address", [])


def test_an_ipv6_address_is_not_called_through_the_proxy(forward_proxy: Upstream) -> None:
    rule = EgressRule(hosts=("[2606:4700::1111]",))
    client = open_client(rule, proxy=forward_proxy.url)
    error = failure_of(lambda: client.request("GET", "https://[2606:4700::1111]/"))
    assert (error.code, forward_proxy.connections) == ("egress.url_invalid", 0)


def test_the_proxy_gets_its_own_credentials(forward_proxy: Upstream) -> None:
    rule = EgressRule(hosts=("api.example",), https_required=False)
    setting = f"http://door:p%40ss@{forward_proxy.authority}"
    open_client(rule, proxy=setting, resolver=PUBLIC).request("GET", "http://api.example/")
    expected = base64.b64encode(b"door:p@ss")
    assert b"Proxy-Authorization: Basic " + expected in forward_proxy.requests[0]
    assert "p@ss" not in repr(parse_proxy(setting))


@pytest.mark.parametrize("setting", [None, "", "  "])
def test_no_setting_means_no_proxy(setting: str | None) -> None:
    assert parse_proxy(setting) is None


@pytest.mark.parametrize(
    "setting",
    ["proxy:3128", "https://proxy:3128", "socks5://proxy:1080", "http://", "http://proxy:0",
     "http://proxy:3128/path", "http://pro xy", "http://u:hunter2@:1"],
)  # fmt: skip
def test_a_setting_that_is_no_http_proxy_is_refused_without_showing_it(setting: str) -> None:
    error = failure_of(lambda: parse_proxy(setting))
    assert error.code == "egress.proxy_invalid"
    assert "hunter2" not in str(error)
