"""Redirects: refused unless asked for, and judged anew at every hop."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from contextos.net import EgressRule, OutboundClient, open_client
from contextos.net.messages import build_request, redirected
from tests.net.conftest import failure_of, local_rule
from tests.net.upstreams import Call, Upstream, http_answer, redirecting, upstream

METADATA = "http://169.254.169.254/latest/meta-data/"


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def client_for(*servers: Upstream) -> OutboundClient:
    return open_client(local_rule(*(server.authority for server in servers)))


@pytest.mark.proves("C11")
@pytest.mark.parametrize("status", ["301 M", "302 F", "303 S", "307 T", "308 P"])
def test_a_redirect_is_refused_by_default(status: str, greeter: Upstream) -> None:
    with upstream(redirecting(f"{greeter.url}/next", status=status)) as server:
        client = client_for(server, greeter)
        error = failure_of(lambda: client.request("GET", server.url))
    assert error.code == "egress.redirect_refused"
    assert error.data["request_sent"] is True
    assert greeter.connections == 0


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    "location",
    [
        METADATA,
        "http://[fd00:ec2::254]/",
        "http://2852039166/",
        "http://[::ffff:169.254.169.254]/",
        "//169.254.169.254/",
    ],
)
def test_a_redirect_to_metadata_is_refused_even_if_the_rule_lists_it(location: str) -> None:
    listed = ("169.254.169.254", "[fd00:ec2::254]", "[::ffff:a9fe:a9fe]")
    with upstream(redirecting(location)) as server:
        client = open_client(local_rule(server.authority, *listed))
        error = failure_of(lambda: client.request("GET", server.url, follow=5))
    assert error.code == "egress.private_address"
    assert "metadata" in error.data["reason"]


@pytest.mark.proves("C11")
def test_a_redirect_to_a_host_off_the_list_is_refused(greeter: Upstream) -> None:
    with upstream(redirecting(greeter.url)) as server:
        client = client_for(server)
        error = failure_of(lambda: client.request("GET", server.url, follow=5))
    assert error.code == "egress.host_not_allowed"
    assert greeter.connections == 0


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://127.0.0.1/", "http://user:pw@127.0.0.1/", "http://127.0.0.1:0/"],
)
def test_a_redirect_to_something_else_than_a_plain_url_is_refused(location: str) -> None:
    with upstream(redirecting(location)) as server:
        client = client_for(server)
        error = failure_of(lambda: client.request("GET", server.url, follow=5))
    assert error.code == "egress.url_invalid"


def test_a_redirect_within_the_rule_is_followed_when_asked(
    greeter: Upstream, servers: ExitStack
) -> None:
    server = servers.enter_context(upstream(redirecting(f"{greeter.url}/next")))
    answer = client_for(server, greeter).request("GET", server.url, follow=1)
    assert (answer.status, answer.content) == (200, b"ok")
    assert greeter.requests[0].startswith(b"GET /next ")


def test_following_ends_at_the_number_of_hops_allowed(servers: ExitStack) -> None:
    server = servers.enter_context(upstream(redirecting("/again")))
    error = failure_of(lambda: client_for(server).request("GET", server.url, follow=3))
    assert error.code == "egress.redirect_refused"
    assert len(server.requests) == 4


def test_credentials_do_not_cross_to_another_origin(greeter: Upstream, servers: ExitStack) -> None:
    server = servers.enter_context(upstream(redirecting(greeter.url)))
    headers = {
        "Authorization": "Bearer x",
        "Cookie": "a=b",
        "X-Adapter-Token": "x",
        "X-Api-Key": "x",
        "Accept": "application/json",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    client_for(server, greeter).request("GET", server.url, headers=headers, follow=1)
    sent = greeter.requests[0].lower()
    for name in (b"authorization", b"cookie", b"x-adapter-token", b"x-api-key"):
        assert name not in sent
    assert b"accept: application/json" in sent
    assert b"traceparent" in sent


def test_credentials_stay_within_the_same_origin(servers: ExitStack) -> None:
    def first_redirect(call: Call) -> None:
        while request := call.read_request():
            onward = request.startswith(b"GET / ")
            found = http_answer(b"", status="302 Found", headers="Location: /next\r\n")
            call.send(found if onward else http_answer())

    server = servers.enter_context(upstream(first_redirect))
    headers = {"Authorization": "Bearer x"}
    client_for(server).request("GET", server.url, headers=headers, follow=1)
    assert b"Authorization: Bearer x" in server.requests[1]


@pytest.mark.parametrize("status", ["301 M", "302 F", "307 T", "308 P"])
def test_a_write_is_not_repeated_at_another_origin(
    status: str, greeter: Upstream, servers: ExitStack
) -> None:
    server = servers.enter_context(upstream(redirecting(greeter.url, status=status)))
    client = client_for(server, greeter)
    error = failure_of(lambda: client.request("POST", server.url, json={"a": 1}, follow=3))
    assert error.code == "egress.redirect_refused"
    assert greeter.connections == 0


def test_see_other_turns_a_write_into_a_bare_get(greeter: Upstream, servers: ExitStack) -> None:
    server = servers.enter_context(upstream(redirecting(greeter.url, status="303 See Other")))
    client_for(server, greeter).request("POST", server.url, json={"a": 1}, follow=1)
    assert greeter.requests[0].startswith(b"GET / ")
    assert b'{"a"' not in greeter.requests[0]
    assert b"content-type" not in greeter.requests[0].lower()


def test_a_redirect_from_https_to_http_is_refused() -> None:
    request = build_request("GET", "https://api.example/", headers=None, content=None, json=None)
    error = failure_of(lambda: redirected(request, 302, "http://api.example/"))
    assert error.code == "egress.redirect_refused"


def test_a_redirect_to_a_private_name_is_judged_after_its_lookup(dials: list[Any]) -> None:
    request = build_request("GET", "https://api.example/", headers=None, content=None, json=None)
    onward = redirected(request, 302, "https://127.0.0.1/")
    client = open_client(EgressRule(hosts=("127.0.0.1",)))
    error = failure_of(lambda: client.request(onward.method, onward.target.url))
    assert (error.code, dials) == ("egress.private_address", [])
