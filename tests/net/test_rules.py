"""The allow-list: what a rule names, and that it denies everything else."""

from ipaddress import ip_address
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from contextos.net import EgressPolicy, EgressRule, open_client, parse_target
from tests.net.conftest import FixedResolver, failure_of


def admits(rule: EgressRule, url: str) -> str:
    """The code of the refusal, or "admitted"."""
    policy = EgressPolicy(rule)
    try:
        policy.admit_target(parse_target(url))
    except ContextOSError as error:
        return error.code
    return "admitted"


@pytest.mark.proves("C11")
def test_an_empty_allow_list_denies_everything(dials: list[Any]) -> None:
    resolver = FixedResolver(api_example=["93.184.216.34"])
    client = open_client(EgressRule(), resolver=resolver)
    error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert error.code == "egress.host_not_allowed"
    assert (dials, resolver.asked) == ([], [])


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    ("hosts", "url", "answer"),
    [
        (("api.example",), "https://api.example/x", "admitted"),
        (("API.Example.",), "https://api.example/x", "admitted"),
        (("api.example",), "https://api.example:443/", "admitted"),
        (("api.example",), "https://api.example:8443/", "egress.host_not_allowed"),
        (("api.example:8443",), "https://api.example:8443/", "admitted"),
        (("api.example:8443",), "https://api.example/", "egress.host_not_allowed"),
        (("api.example",), "https://evil.example/", "egress.host_not_allowed"),
        (("api.example",), "https://x.api.example/", "egress.host_not_allowed"),
        (("api.example",), "https://api.example.evil.example/", "egress.host_not_allowed"),
        (("api.example",), "https://evilapi.example/", "egress.host_not_allowed"),
        (("*.api.example",), "https://x.api.example/", "admitted"),
        (("*.api.example",), "https://x.y.api.example/", "admitted"),
        (("*.api.example",), "https://api.example/", "egress.host_not_allowed"),
        (("*.api.example",), "https://evilapi.example/", "egress.host_not_allowed"),
        (("*.api.example",), "https://x.api.example:8443/", "egress.host_not_allowed"),
        (("*.api.example:8443",), "https://x.api.example:8443/", "admitted"),
        (("8.8.8.8",), "https://134744072/", "admitted"),
        (("[2606:4700::1111]:8443",), "https://[2606:4700:0::1111]:8443/", "admitted"),
        (("[2606:4700::1111]",), "https://[2606:4700::1111]/", "admitted"),
        (("api.example",), "http://api.example/", "egress.https_required"),
        (("api.example:80",), "https://api.example:80/", "admitted"),
    ],
)
def test_a_rule_admits_what_it_names_and_nothing_else(
    hosts: tuple[str, ...], url: str, answer: str
) -> None:
    assert admits(EgressRule(hosts=hosts), url) == answer


def test_plain_http_needs_a_rule_that_says_so() -> None:
    relaxed = EgressRule(hosts=("api.example",), https_required=False)
    assert admits(relaxed, "http://api.example/") == "admitted"
    https_only = EgressRule(hosts=("api.example",), https_required=False, schemes=("https",))
    assert admits(https_only, "http://api.example/") == "egress.host_not_allowed"


@pytest.mark.proves("C11")
@pytest.mark.parametrize("environment", ["production", "staging", "", "prod", "Development"])
def test_only_a_developer_environment_opens_http_and_private_hosts(environment: str) -> None:
    rule = EgressRule.for_environment(environment, ["api.example"])
    assert rule == EgressRule(hosts=("api.example",))
    for relaxed in ("development", "workstation"):
        opened = EgressRule.for_environment(relaxed, ["api.example"])
        assert (opened.allow_private, opened.https_required) == (True, False)


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        ("127.0.0.1", True),
        ("10.0.0.1", True),
        ("192.168.7.7", True),
        ("100.64.0.1", True),
        ("::1", True),
        ("fd12::1", True),
        ("8.8.8.8", True),
        ("169.254.1.1", False),
        ("169.254.169.254", False),
        ("fd00:ec2::254", False),
        ("fe80::1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_what_allow_private_opens(address: str, opened: bool) -> None:
    policy = EgressPolicy(EgressRule(hosts=("api.example",), allow_private=True))
    if opened:
        policy.admit_addresses("api.example", [ip_address(address)])
        return
    error = failure_of(lambda: policy.admit_addresses("api.example", [ip_address(address)]))
    assert error.code == "egress.private_address"


@pytest.mark.parametrize(
    "entry",
    ["", "*", "*.", "https://api.example", "api.example/path", "a b", "*.10.0.0.1", "*.*.example",
     "api.*.example", "api.example:0", "user@api.example", "api.example:https"],
)  # fmt: skip
def test_an_entry_that_is_no_host_is_refused_when_the_rule_is_made(entry: str) -> None:
    assert failure_of(lambda: EgressRule(hosts=(entry,))).code == "egress.rule_invalid"


def test_an_unknown_scheme_is_refused_when_the_rule_is_made() -> None:
    assert failure_of(lambda: EgressRule(schemes=("ftp",))).code == "egress.rule_invalid"


def test_rules_that_mean_the_same_are_equal() -> None:
    one = EgressRule(hosts=("B.example", "a.example.", "a.example"))
    other = EgressRule(hosts=("a.example", "b.example"), schemes=("HTTP", "https"))
    assert (one, hash(one)) == (other, hash(other))
