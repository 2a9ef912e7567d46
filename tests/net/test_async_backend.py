"""The asynchronous twin judges by the same rules and dials the judged address."""

from typing import Any

import anyio
import httpcore2
import pytest

from contextos.core.errors import ContextOSError
from contextos.net import EgressPolicy, EgressRule
from contextos.net.async_backend import AsyncGuardedBackend
from tests.net.conftest import FixedResolver, local_rule
from tests.net.spellings import FORBIDDEN_IPV4
from tests.net.upstreams import Upstream


def fetch(rule: EgressRule, resolver: FixedResolver, url: str) -> httpcore2.Response:
    async def run() -> httpcore2.Response:
        backend = AsyncGuardedBackend(EgressPolicy(rule), resolver)
        async with httpcore2.AsyncConnectionPool(network_backend=backend) as pool:
            return await pool.request("GET", url, extensions={"timeout": {"connect": 2.0}})

    return anyio.run(run)


def test_an_admitted_host_is_reached_by_its_judged_address(greeter: Upstream) -> None:
    resolver = FixedResolver(api_example=["::1", "127.0.0.1"])
    rule = local_rule(f"api.example:{greeter.port}")
    answer = fetch(rule, resolver, f"http://api.example:{greeter.port}/")
    assert (answer.status, answer.content) == (200, b"ok")
    assert f"Host: api.example:{greeter.port}".encode() in greeter.requests[0]


@pytest.mark.proves("C11")
@pytest.mark.parametrize("address", FORBIDDEN_IPV4.values())
def test_a_forbidden_address_is_not_dialled(
    address: str, greeter: Upstream, dials: list[Any]
) -> None:
    rule = EgressRule(hosts=(f"api.example:{greeter.port}",), https_required=False)
    resolver = FixedResolver(api_example=["93.184.216.34", address])
    with pytest.raises(ContextOSError) as caught:
        fetch(rule, resolver, f"http://api.example:{greeter.port}/")
    assert caught.value.code == "egress.private_address"
    assert greeter.connections == 0


def test_a_host_off_the_list_is_not_looked_up(greeter: Upstream) -> None:
    resolver = FixedResolver(api_example=["127.0.0.1"])
    with pytest.raises(ContextOSError) as caught:
        fetch(local_rule("other.example"), resolver, f"http://api.example:{greeter.port}/")
    assert caught.value.code == "egress.host_not_allowed"
    assert resolver.asked == []


def test_a_refused_connection_is_coded() -> None:
    resolver = FixedResolver(api_example=["127.0.0.1"])
    with pytest.raises(ContextOSError) as caught:
        fetch(local_rule("api.example:9"), resolver, "http://api.example:9/")
    assert caught.value.code == "egress.connect_failed"


def test_unix_sockets_are_no_way_out() -> None:
    async def run() -> None:
        backend = AsyncGuardedBackend(EgressPolicy(EgressRule()), FixedResolver())
        await backend.connect_unix_socket("/run/app.sock")

    with pytest.raises(ContextOSError):
        anyio.run(run)
