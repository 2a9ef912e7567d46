"""Judging addresses: what is public, what is not and why."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.net import Envelope, Reason, judge_address, literal_address

# The IANA IPv4 and IPv6 special-purpose registries, plus multicast, reserved and deprecated space.
IANA_SPECIAL = (
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32",
    "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24",
    "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
    "::1/128", "::/128", "::/96", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
    "2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48",
    "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28",
    "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7",
    "fe80::/10", "fec0::/10", "ff00::/8",
)  # fmt: skip

PUBLIC = (
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255",
    "100.128.0.0", "126.255.255.255", "128.0.0.0", "172.15.255.255", "172.32.0.0",
    "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
    "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001:81b::200e",
    "2001:200::1", "2400:cb00::1", "64:ff9b::8.8.8.8",
)  # fmt: skip


def addresses_in(network: str) -> st.SearchStrategy[IPv4Address | IPv6Address]:
    block = ip_network(network)
    first, last = int(block.network_address), int(block.broadcast_address)
    kind = IPv4Address if isinstance(block, IPv4Network) else IPv6Address
    return st.integers(first, last).map(kind)


@pytest.mark.proves("C11")
@given(address=st.sampled_from(IANA_SPECIAL).flatmap(addresses_in))
def test_nothing_in_the_special_registries_is_public(address: IPv4Address | IPv6Address) -> None:
    assert not judge_address(address).is_public


@pytest.mark.parametrize("network", IANA_SPECIAL)
def test_both_ends_of_a_special_network_are_refused(network: str) -> None:
    block = ip_network(network)
    assert not judge_address(block.network_address).is_public
    assert not judge_address(block.broadcast_address).is_public


@given(address=st.ip_addresses())
def test_a_public_verdict_never_goes_beyond_the_standard_library(
    address: IPv4Address | IPv6Address,
) -> None:
    if judge_address(address).is_public:
        assert address.is_global
        assert not address.is_multicast


@given(inner=st.sampled_from(IANA_SPECIAL[:26]).flatmap(addresses_in))
def test_nat64_of_a_special_address_is_not_public(inner: IPv4Address) -> None:
    verdict = judge_address(IPv6Address(int(IPv6Address("64:ff9b::")) | int(inner)))
    assert not verdict.is_public
    assert verdict.embedded == inner
    assert verdict.envelope is Envelope.NAT64


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_public(address: str) -> None:
    verdict = judge_address(ip_address(address))
    assert verdict.is_public
    assert verdict.label == "public"


@pytest.mark.parametrize(
    ("address", "label"),
    [
        ("127.0.0.1", "loopback"),
        ("10.1.2.3", "private"),
        ("169.254.1.1", "link_local"),
        ("169.254.169.254", "metadata"),
        ("100.64.0.1", "cgnat"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("192.0.0.192", "metadata"),
        ("192.0.0.1", "protocol_assignment"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "this_network"),
        ("192.0.2.1", "documentation"),
        ("198.19.0.1", "benchmarking"),
        ("224.0.0.1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("192.88.99.1", "relay"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fe80::1", "link_local"),
        ("fe80::1%eth0", "link_local"),
        ("fec0::1", "site_local"),
        ("fd00::1", "unique_local"),
        ("fd00:ec2::254", "metadata"),
        ("fd00:ec2::254%eth0", "metadata"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "documentation"),
        ("100::1", "discard"),
        ("8000::1", "reserved"),
        ("::ffff:127.0.0.1", "ipv4_mapped:loopback"),
        ("::ffff:8.8.8.8", "ipv4_mapped:transition"),
        ("::127.0.0.1", "ipv4_compatible:loopback"),
        ("::ffff:0:10.0.0.1", "ipv4_translated:private"),
        ("64:ff9b::169.254.169.254", "nat64:metadata"),
        ("64:ff9b:1::10.0.0.1", "nat64_local:private"),
        ("64:ff9b:1::8.8.8.8", "nat64_local:transition"),
        ("2002:7f00:1::", "6to4:loopback"),
        ("2002:808:808::1", "6to4:transition"),
        ("2001:0:808:808::80ff:fffe", "teredo:loopback"),
        ("2001:0:7f00:1::f7f7:f7f7", "teredo:loopback"),
        ("2001:0:808:808::f7f7:f7f7", "teredo:transition"),
        ("2606:4700::5efe:192.168.0.1", "isatap:private"),
        ("2606:4700::200:5efe:192.168.0.1", "isatap:private"),
    ],
)
def test_a_refused_address_is_named(address: str, label: str) -> None:
    assert judge_address(ip_address(address)).label == label


def test_a_metadata_address_is_found_inside_every_envelope() -> None:
    hidden = "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::ffff:169.254.169.254"
    assert {judge_address(ip_address(row)).reason for row in hidden} == {Reason.METADATA}


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1.example.com",
        "10-0-0-1.example.com",
        "1.2.3.4.5.example",
        "example.com",
        "localhost",
        "0x7f.example",
        "a.1.2.3",
        "1.2.3.4.5",
        "256.0.0.1",
        "127.0.0.256",
        "4294967296",
        "0x100000000",
        "089.0.0.1",
        "127..1",
        ".127.0.0.1",
        "-1",
        "+127.0.0.1",
        "1e3",
        "",
        ".",
        "[]",
        "[127.0.0.1]",
        "::g",
        "9" * 2000,
        "%",
        "%zz",
    ],
)
def test_a_host_that_only_looks_like_an_address_is_a_name(host: str) -> None:
    assert literal_address(host) is None


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("8.8.8.8", "8.8.8.8"),
        ("134744072", "8.8.8.8"),
        ("0x8.0x8.0x8.0x8", "8.8.8.8"),
        ("010.8.8.8", "8.8.8.8"),
        ("8.8.2056", "8.8.8.8"),
        (" 8.8.8.8 ", "8.8.8.8"),
        ("[2606:4700::1111]", "2606:4700::1111"),
        ("2606:4700::1111", "2606:4700::1111"),
        ("2606:4700::1111%25eth0", "2606:4700::1111"),
        ("fe80::1%ee0", "fe80::1"),
        ("%3A%3A1", "::1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
    ],
)
def test_a_literal_is_read_as_a_resolver_would(host: str, address: str) -> None:
    assert literal_address(host) == ip_address(address)


@given(value=st.integers(0, 2**32 - 1))
def test_every_numeric_spelling_reads_back_to_the_same_address(value: int) -> None:
    expected = IPv4Address(value)
    a, b, c, d = (value >> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255)
    for host in (
        str(value),
        hex(value),
        f"0{value:o}",
        f"{expected}.",
        f"{a}.{value & 0xFFFFFF}",
        f"{a}.{b}.{value & 0xFFFF}",
        f"{a:#x}.{b}.0{c:o}.{d}",
        str(expected).replace(".", "%2e"),
    ):
        assert literal_address(host) == expected


@given(host=st.text(max_size=60))
def test_reading_a_host_never_fails(host: str) -> None:
    found = literal_address(host)
    assert found is None or isinstance(judge_address(found).label, str)
