"""The asynchronous door: hostile hosts, wandering names and slow bodies fail one request, coded."""

import gzip
import ssl
import time
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import pytest

from contextos.core.errors import ContextOSError
from contextos.net import EgressRule, build_tls_context
from contextos.net.async_door import open_async_client
from contextos.net.manners import AsyncExchange, Departure, LocalAnswer
from tests.net.certificates import Authority
from tests.net.conftest import FixedResolver, local_rule
from tests.net.upstreams import Call, Upstream, answering, http_answer, redirecting, upstream


class Plain:
    """Manners that add a secret header and let every failure through."""

    def __init__(self, *, seconds: float = 2.0, max_bytes: int = 10_000) -> None:
        self.exchange = AsyncExchange(
            expires_at=time.monotonic() + seconds,
            max_bytes=max_bytes,
            headers={"Authorization": "Bearer planted"},
        )

    def departs(
        self, method: str, headers: Mapping[str, str], content: bytes
    ) -> Departure | LocalAnswer:
        return Departure(self.exchange)

    def stands_in(self, content: bytes, fault: ContextOSError) -> LocalAnswer | None:
        return None


def ask(
    url: str,
    *,
    rule: EgressRule,
    manners: Plain | None = None,
    times: int = 1,
    **how: Any,
) -> httpx2.Response:
    manners = manners or Plain()

    async def run() -> httpx2.Response:
        async with open_async_client(rule, manners, **how) as client:
            for _ in range(times):
                answer = await client.post(url, content=b"{}")
                await answer.aread()
            return answer

    return anyio.run(run)


def code_of(url: str, **how: Any) -> str:
    with pytest.raises(ContextOSError) as caught:
        ask(url, **how)
    return caught.value.code


@pytest.mark.proves("C11")
def test_a_redirect_to_a_metadata_address_is_not_followed() -> None:
    elsewhere = "http://169.254.169.254/latest/meta-data/"
    for status in ("302 Found", "307 Temporary Redirect"):
        with upstream(redirecting(elsewhere, status=status)) as server:
            code = code_of(server.url, rule=local_rule(server.authority))
        assert code == "egress.redirect_refused"
        assert len(server.requests) == 1


@pytest.mark.proves("C11")
def test_a_redirect_within_the_origin_is_not_followed_either() -> None:
    with upstream(redirecting("/elsewhere", status="308 Permanent Redirect")) as server:
        assert code_of(server.url, rule=local_rule(server.authority)) == "egress.redirect_refused"


@pytest.mark.proves("C11")
def test_a_name_that_changes_its_answer_is_judged_at_every_connection(greeter: Upstream) -> None:
    class Rebinding(FixedResolver):
        def resolve(self, host: str, port: int, timeout: float) -> Any:
            found = super().resolve(host, port, timeout)
            self.answers["api.example"] = ["169.254.169.254"]
            return found

    rule = local_rule(f"api.example:{greeter.port}")
    resolver = Rebinding(api_example=["127.0.0.1"])
    url = f"http://api.example:{greeter.port}/"
    assert ask(url, rule=rule, resolver=resolver, times=2).status_code == 200
    assert resolver.asked == ["api.example"]  # the second request reused the judged connection
    assert code_of(url, rule=rule, resolver=resolver) == "egress.private_address"


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    ("url", "rule", "code"),
    [
        ("http://169.254.169.254/", local_rule("169.254.169.254"), "egress.private_address"),
        ("http://127.0.0.1:9/", EgressRule(hosts=("127.0.0.1:9",)), "egress.https_required"),
        ("http://other.example/", local_rule("api.example"), "egress.host_not_allowed"),
        ("http://127.0.0.1:9/", local_rule("127.0.0.1:9"), "egress.connect_failed"),
    ],
)
def test_what_the_rule_does_not_hold_never_leaves(url: str, rule: EgressRule, code: str) -> None:
    manners = Plain()
    assert code_of(url, rule=rule, manners=manners) == code
    assert not manners.exchange.request_sent


def test_headers_of_the_exchange_travel_and_are_never_shown(greeter: Upstream) -> None:
    manners = Plain()
    ask(greeter.url, rule=local_rule(greeter.authority), manners=manners)
    assert b"authorization: Bearer planted" in greeter.requests[0]
    assert "planted" not in repr(manners.exchange)
    assert manners.exchange.request_sent
    assert (manners.exchange.peer_ip, manners.exchange.status) == ("127.0.0.1", 200)


def test_proxies_of_the_environment_are_ignored(
    greeter: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert ask(greeter.url, rule=local_rule(greeter.authority)).status_code == 200


def test_the_egress_proxy_is_used_but_the_target_is_judged_first() -> None:
    with upstream(answering(http_answer(b"by proxy"))) as proxy:
        resolver = FixedResolver(api_example=["93.184.216.34"], evil_example=["169.254.169.254"])
        rule = local_rule("api.example", "evil.example")
        how: dict[str, Any] = {"rule": rule, "resolver": resolver, "proxy": proxy.url}
        assert ask("http://api.example/", **how).content == b"by proxy"
        assert code_of("http://evil.example/", **how) == "egress.private_address"
        assert len(proxy.requests) == 1


def _too_long(call: Call) -> None:
    call.read_request()
    call.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    while not call.upstream.stopping.is_set():
        call.send(b"x" * 65536)


def _dripping(call: Call) -> None:
    call.read_request()
    call.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n")
    call.drip(b"x" * 500, every=0.05)


def _dripping_events(call: Call) -> None:
    call.read_request()
    call.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    call.drip(b": keep waiting\n\n" * 500, every=0.05)


def _cut(call: Call) -> None:
    call.read_request()
    call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf")


def _silent(call: Call) -> None:
    call.read_request()
    call.upstream.stopping.wait(5)


@pytest.mark.proves("C11", "C13")
@pytest.mark.parametrize(
    ("handler", "code"),
    [
        (_too_long, "egress.too_large"),
        (answering(http_answer(b"x" * 20_000)), "egress.too_large"),
        (_dripping, "egress.deadline"),
        (_silent, "egress.deadline"),
        (_cut, "egress.protocol"),
        (answering(b"not http at all\r\n\r\n"), "egress.protocol"),
        (
            answering(http_answer(gzip.compress(b"ok"), headers="Content-Encoding: gzip\r\n")),
            "egress.protocol",
        ),
    ],
)
def test_a_bad_body_is_a_code_and_not_a_wait(handler: Any, code: str) -> None:
    began = time.monotonic()
    with upstream(handler) as server:
        manners = Plain(seconds=0.4)
        assert code_of(server.url, rule=local_rule(server.authority), manners=manners) == code
    assert manners.exchange.request_sent
    assert time.monotonic() - began < 2


@pytest.mark.proves("C11")
def test_an_event_stream_ends_with_its_exchange_however_slowly_it_drips() -> None:
    manners = Plain(seconds=0.4)
    with upstream(_dripping_events) as server, pytest.raises(httpx2.ReadError):
        ask(server.url, rule=local_rule(server.authority), manners=manners)
    assert manners.exchange.fault is not None
    assert manners.exchange.fault.code == "egress.deadline"


def test_a_failure_can_be_told_as_an_answer() -> None:
    class Telling(Plain):
        def stands_in(self, content: bytes, fault: ContextOSError) -> LocalAnswer | None:
            return LocalAnswer(200, fault.code.encode())

    with upstream(_cut) as server:
        answer = ask(server.url, rule=local_rule(server.authority), manners=Telling())
    assert answer.content == b"egress.protocol"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def _over_tls(authority: Authority, name: str, tls: ssl.SSLContext | None) -> httpx2.Response:
    context = authority.server_context(name)
    with upstream(answering(http_answer()), context) as server:
        rule = EgressRule(hosts=(f"api.example:{server.port}",), allow_private=True)
        resolver = FixedResolver(api_example=["127.0.0.1"])
        url = f"https://api.example:{server.port}/"
        return ask(url, rule=rule, resolver=resolver, tls=tls)


def test_tls_keeps_the_name_while_the_address_is_dialled(authority: Authority) -> None:
    trusting = build_tls_context(ca_file=authority.file)
    assert _over_tls(authority, "api.example", trusting).status_code == 200
    for name, tls in (("other.example", trusting), ("api.example", None)):
        with pytest.raises(ContextOSError) as caught:
            _over_tls(authority, name, tls)
        assert caught.value.code == "egress.tls"
