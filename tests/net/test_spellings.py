"""Hundreds of spellings of forbidden addresses: not one of them is dialled."""

from typing import Any

import pytest

from contextos.net import EgressRule, open_client
from tests.net.conftest import FixedResolver, failure_of, local_rule
from tests.net.spellings import forbidden_answers, forbidden_hosts, metadata_hosts
from tests.net.upstreams import Upstream

HOSTS = forbidden_hosts()
METADATA = metadata_hosts()
ANSWERS = forbidden_answers()


def rule_listing(host: str, port: int) -> EgressRule:
    """The allow-list names the very host, so that only the address can be what stops it."""
    return EgressRule(hosts=(f"{host}:{port}",), https_required=False)


def test_at_least_three_hundred_distinct_spellings_are_tried() -> None:
    assert len({host for _, host in HOSTS}) >= 300
    assert len(METADATA) >= 150


@pytest.mark.proves("C11")
@pytest.mark.parametrize("host", [row[1] for row in HOSTS], ids=[row[0] for row in HOSTS])
def test_a_forbidden_address_is_not_dialled(host: str, greeter: Upstream, dials: list[Any]) -> None:
    client = open_client(rule_listing(host, greeter.port))
    url = f"http://{host}:{greeter.port}/"
    error = failure_of(lambda: client.request("GET", url))
    assert error.code == "egress.private_address"
    assert error.data["request_sent"] is False
    assert dials == []
    assert greeter.connections == 0


@pytest.mark.proves("C11")
@pytest.mark.parametrize("host", [row[1] for row in METADATA], ids=[row[0] for row in METADATA])
def test_metadata_is_refused_even_where_private_hosts_are_allowed(
    host: str, dials: list[Any]
) -> None:
    client = open_client(local_rule(host))
    error = failure_of(lambda: client.request("GET", f"http://{host}/latest/meta-data/"))
    assert error.code == "egress.private_address"
    assert "metadata" in error.data["reason"]
    assert dials == []


@pytest.mark.proves("C11")
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_name_that_resolves_to_a_forbidden_address_is_not_dialled(
    answer: str, dials: list[Any]
) -> None:
    client = open_client(
        EgressRule(hosts=("api.example",)), resolver=FixedResolver(api_example=[answer])
    )
    error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert error.code == "egress.private_address"
    assert error.data["host"] == "api.example"
    assert dials == []


@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_bad_address_among_good_ones_refuses_the_host(position: int, dials: list[Any]) -> None:
    answers = ["93.184.216.34", "2606:4700::1111"]
    answers.insert(position, "10.0.0.5")
    client = open_client(
        EgressRule(hosts=("api.example",)), resolver=FixedResolver(api_example=answers)
    )
    error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert (error.code, error.data["ip"]) == ("egress.private_address", "10.0.0.5")
    assert dials == []


def test_localhost_by_its_name_is_refused_after_the_lookup(
    greeter: Upstream, dials: list[Any]
) -> None:
    client = open_client(rule_listing("localhost", greeter.port))
    error = failure_of(lambda: client.request("GET", f"http://localhost:{greeter.port}/"))
    assert error.code == "egress.private_address"
    assert dials == []


def test_a_public_address_is_dialled_and_nothing_else(dials: list[Any]) -> None:
    client = open_client(
        EgressRule(hosts=("api.example",)), resolver=FixedResolver(api_example=["93.184.216.34"])
    )
    error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert error.code == "egress.connect_failed"
    assert dials == [("93.184.216.34", 443)]
