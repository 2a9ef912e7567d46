"""TLS: the name is asked for and checked while the judged address is dialled."""

import ssl
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from contextos.core.errors import ErrorKind
from contextos.net import Address, EgressRule, OutboundClient, build_tls_context, open_client
from contextos.net.tls import shared_tls_context
from tests.net.certificates import Authority
from tests.net.conftest import FixedResolver, failure_of
from tests.net.upstreams import Call, Upstream, answering, http_answer, upstream


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def client_for(server: Upstream, tls: ssl.SSLContext | None, name: str) -> OutboundClient:
    rule = EgressRule(hosts=(f"{name}:{server.port}",), allow_private=True)
    resolver = FixedResolver(**{name.replace(".", "_"): ["127.0.0.1"]})
    return open_client(rule, tls=tls, resolver=resolver, deadline=5)


def test_sni_host_and_certificate_keep_the_name(authority: Authority) -> None:
    context = authority.server_context("api.example")
    asked_for: list[str | None] = []

    def note(connection: Any, name: str | None, context: ssl.SSLContext) -> None:
        asked_for.append(name)

    context.sni_callback = note
    with upstream(answering(http_answer()), context) as server:
        client = client_for(server, build_tls_context(ca_file=authority.file), "api.example")
        answer = client.request("GET", f"https://api.example:{server.port}/")
    assert (answer.content, answer.peer_ip) == (b"ok", "127.0.0.1")
    assert asked_for == ["api.example"]
    assert f"Host: api.example:{server.port}".encode() in server.requests[0]


def test_a_certificate_for_another_name_is_refused_before_anything_is_sent(
    authority: Authority,
) -> None:
    with upstream(answering(http_answer()), authority.server_context("other.example")) as server:
        client = client_for(server, build_tls_context(ca_file=authority.file), "api.example")
        error = failure_of(lambda: client.request("POST", f"https://api.example:{server.port}/"))
    assert (error.code, error.kind) == ("egress.tls", ErrorKind.UPSTREAM)
    assert "api.example" in error.message
    assert error.data["request_sent"] is False
    assert server.requests == []


def test_a_certificate_for_the_address_alone_does_not_stand_for_the_name(
    authority: Authority,
) -> None:
    with upstream(answering(http_answer()), authority.server_context("127.0.0.1")) as server:
        client = client_for(server, build_tls_context(ca_file=authority.file), "api.example")
        error = failure_of(lambda: client.request("GET", f"https://api.example:{server.port}/"))
    assert error.code == "egress.tls"


def test_an_unknown_authority_is_refused(authority: Authority) -> None:
    with upstream(answering(http_answer()), authority.server_context("api.example")) as server:
        client = client_for(server, None, "api.example")
        error = failure_of(lambda: client.request("GET", f"https://api.example:{server.port}/"))
    assert (error.code, server.requests) == ("egress.tls", [])


def test_a_server_that_speaks_no_tls_is_a_tls_failure() -> None:
    def plain(call: Call) -> None:
        call.connection.recv(65536)
        call.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with upstream(plain) as server:
        client = client_for(server, None, "api.example")
        error = failure_of(lambda: client.request("GET", f"https://api.example:{server.port}/"))
    assert (error.code, error.data["request_sent"]) == ("egress.tls", False)


def test_a_stalled_handshake_meets_the_deadline() -> None:
    with upstream(lambda call: call.drip(b"\x16\x03\x03\x40\x00" * 1000, every=0.02)) as server:
        client = client_for(server, None, "api.example")
        url = f"https://api.example:{server.port}/"
        error = failure_of(lambda: client.request("GET", url, deadline=0.3))
    assert (error.code, error.data["request_sent"]) == ("egress.deadline", False)


def test_a_slow_lookup_leaves_the_handshake_only_the_rest_of_the_time() -> None:
    class SlowResolver(FixedResolver):
        def resolve(self, host: str, port: int, timeout: float) -> list[Address]:
            threading.Event().wait(0.9)
            return super().resolve(host, port, timeout)

    with upstream(lambda call: call.drip(b"\x16\x03\x03\x40\x00" * 1000, every=0.02)) as server:
        rule = EgressRule(hosts=(f"api.example:{server.port}",), allow_private=True)
        client = open_client(rule, resolver=SlowResolver(api_example=["127.0.0.1"]))
        started = time.monotonic()
        url = f"https://api.example:{server.port}/"
        error = failure_of(lambda: client.request("GET", url, deadline=1.0))
        took = time.monotonic() - started
    assert error.code == "egress.deadline"
    assert took < 1.7


def test_a_tls_answer_that_drips_meets_the_deadline(authority: Authority) -> None:
    def drip(call: Call) -> None:
        call.read_request()
        call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
        call.drip(b"a" * 9999, every=0.02)

    with upstream(drip, authority.server_context("api.example")) as server:
        client = client_for(server, build_tls_context(ca_file=authority.file), "api.example")
        url = f"https://api.example:{server.port}/"
        error = failure_of(lambda: client.request("GET", url, deadline=0.3))
    assert (error.code, error.data["request_sent"]) == ("egress.deadline", True)


@pytest.mark.proves("C7")
def test_a_client_certificate_is_presented_when_the_host_asks(authority: Authority) -> None:
    server_context = authority.server_context("api.example", asks_client=True)
    mine = authority.issue("client.example")
    tls = build_tls_context(ca_file=authority.file, certificate=mine.certificate, key=mine.key)
    with upstream(answering(http_answer()), server_context) as server:
        url = f"https://api.example:{server.port}/"
        assert client_for(server, tls, "api.example").request("GET", url).status == 200
        bare = client_for(server, build_tls_context(ca_file=authority.file), "api.example")
        assert failure_of(lambda: bare.request("GET", url)).kind is ErrorKind.UPSTREAM


def test_a_context_that_verifies_nothing_is_refused() -> None:
    careless = ssl.create_default_context()
    careless.check_hostname = False
    rule = EgressRule(hosts=("api.example",))
    assert failure_of(lambda: open_client(rule, tls=careless)).code == "egress.tls"
    careless.verify_mode = ssl.CERT_NONE
    assert failure_of(lambda: open_client(rule, tls=careless)).code == "egress.tls"


def test_an_unreadable_certificate_is_explained(tmp_path: Path) -> None:
    error = failure_of(lambda: build_tls_context(certificate=tmp_path / "none.pem"))
    assert error.code == "egress.tls"
    assert str(tmp_path) not in str(error)


def test_no_new_tls_context_is_made_per_client_or_request(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = build_tls_context(ca_file=authority.file)
    shared_tls_context()
    server_context = authority.server_context("api.example")
    made: list[object] = []
    create = ssl.SSLContext.__new__

    def counting(cls: type[ssl.SSLContext], *args: Any, **options: Any) -> ssl.SSLContext:
        made.append(cls)
        return create(cls, *args, **options)

    monkeypatch.setattr(ssl.SSLContext, "__new__", counting)
    with upstream(answering(http_answer()), server_context) as server:
        url = f"https://api.example:{server.port}/"
        for _ in range(5):
            client_for(server, tls, "api.example").request("GET", url)
            untrusting = client_for(server, None, "api.example")
            failure_of(lambda client=untrusting: client.request("GET", url))  # type: ignore[misc]
    assert made == []
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert len(made) == 1, "the count works"
