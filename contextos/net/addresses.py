"""Says of an IP address whether it is public, and finds the address hidden in a host's spelling.

Pure: no sockets, no DNS, no settings, so manifest lint and the network door share one judgement.

Public means "not in any IANA special-purpose registry and, for IPv6, inside global unicast".
`ipaddress.is_global` is not enough: it answers for the IPv6 envelope and not for the IPv4 address
a NAT64, 6to4 or Teredo gateway would really deliver to. Every envelope is therefore opened and its
content judged too. One envelope may carry a public address and stay public: the well-known NAT64
prefix, which DNS64 networks hand out for every IPv4-only host; all others are refused outright.

Cloud metadata services are named apart because no rule may ever allow them.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import unquote

Address = IPv4Address | IPv6Address


class Reason(StrEnum):
    """Why an address is not public."""

    AS112 = "as112"
    BENCHMARKING = "benchmarking"
    BROADCAST = "broadcast"
    CGNAT = "cgnat"
    DISCARD = "discard"
    DOCUMENTATION = "documentation"
    LINK_LOCAL = "link_local"
    LOOPBACK = "loopback"
    METADATA = "metadata"
    MULTICAST = "multicast"
    PRIVATE = "private"
    PROTOCOL_ASSIGNMENT = "protocol_assignment"
    RELAY = "relay"
    RESERVED = "reserved"
    SITE_LOCAL = "site_local"
    THIS_NETWORK = "this_network"
    TRANSITION = "transition"
    UNIQUE_LOCAL = "unique_local"
    UNSPECIFIED = "unspecified"


class Envelope(StrEnum):
    """The IPv6 form that carries an IPv4 address inside."""

    IPV4_COMPATIBLE = "ipv4_compatible"
    IPV4_MAPPED = "ipv4_mapped"
    IPV4_TRANSLATED = "ipv4_translated"
    ISATAP = "isatap"
    NAT64 = "nat64"
    NAT64_LOCAL = "nat64_local"
    SIX_TO_FOUR = "6to4"
    TEREDO = "teredo"


@dataclass(frozen=True, slots=True)
class AddressVerdict:
    """`reason` is None for a public address; `envelope` says where a hidden IPv4 was found."""

    address: Address
    reason: Reason | None = None
    envelope: Envelope | None = None
    embedded: IPv4Address | None = None

    @property
    def is_public(self) -> bool:
        return self.reason is None

    @property
    def label(self) -> str:
        """One word for logs and findings: `public`, `loopback`, `nat64:metadata` ..."""
        if self.reason is None:
            return "public"
        return f"{self.envelope}:{self.reason}" if self.envelope else str(self.reason)


# Narrow networks first: the first match names the reason.
_IPV4_SPECIAL: tuple[tuple[IPv4Network, Reason], ...] = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/32", Reason.UNSPECIFIED),
        ("0.0.0.0/8", Reason.THIS_NETWORK),
        ("10.0.0.0/8", Reason.PRIVATE),
        ("100.64.0.0/10", Reason.CGNAT),
        ("127.0.0.0/8", Reason.LOOPBACK),
        ("169.254.0.0/16", Reason.LINK_LOCAL),
        ("172.16.0.0/12", Reason.PRIVATE),
        ("192.0.0.0/24", Reason.PROTOCOL_ASSIGNMENT),
        ("192.0.2.0/24", Reason.DOCUMENTATION),
        ("192.31.196.0/24", Reason.AS112),
        ("192.52.193.0/24", Reason.RELAY),
        ("192.88.99.0/24", Reason.RELAY),
        ("192.168.0.0/16", Reason.PRIVATE),
        ("192.175.48.0/24", Reason.AS112),
        ("198.18.0.0/15", Reason.BENCHMARKING),
        ("198.51.100.0/24", Reason.DOCUMENTATION),
        ("203.0.113.0/24", Reason.DOCUMENTATION),
        ("224.0.0.0/4", Reason.MULTICAST),
        ("255.255.255.255/32", Reason.BROADCAST),
        ("240.0.0.0/4", Reason.RESERVED),
    )
)

_IPV6_SPECIAL: tuple[tuple[IPv6Network, Reason], ...] = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("::/128", Reason.UNSPECIFIED),
        ("::1/128", Reason.LOOPBACK),
        ("::/96", Reason.TRANSITION),
        ("::ffff:0:0/96", Reason.TRANSITION),
        ("::ffff:0:0:0/96", Reason.TRANSITION),
        ("64:ff9b::/96", Reason.TRANSITION),
        ("64:ff9b:1::/48", Reason.TRANSITION),
        ("100::/64", Reason.DISCARD),
        ("100:0:0:1::/64", Reason.DISCARD),
        ("2001::/32", Reason.TRANSITION),
        ("2001:2::/48", Reason.BENCHMARKING),
        ("2001:3::/32", Reason.RELAY),
        ("2001:4:112::/48", Reason.AS112),
        ("2001::/23", Reason.PROTOCOL_ASSIGNMENT),
        ("2001:db8::/32", Reason.DOCUMENTATION),
        ("2002::/16", Reason.TRANSITION),
        ("2620:4f:8000::/48", Reason.AS112),
        ("3ffe::/16", Reason.RESERVED),
        ("3fff::/20", Reason.DOCUMENTATION),
        ("5f00::/16", Reason.RESERVED),
        ("fc00::/7", Reason.UNIQUE_LOCAL),
        ("fe80::/10", Reason.LINK_LOCAL),
        ("fec0::/10", Reason.SITE_LOCAL),
        ("ff00::/8", Reason.MULTICAST),
    )
)

# IANA hands out public IPv6 addresses from here alone; what lies outside needs no name to be bad.
_IPV6_GLOBAL_UNICAST = IPv6Network("2000::/3")

# Instance metadata, credential and control endpoints of clouds. Some sit on public addresses.
METADATA_NETWORKS: tuple[IPv4Network | IPv6Network, ...] = tuple(
    ip_network(network)
    for network in (
        "169.254.169.0/24",  # AWS, Azure, Google, Oracle, DigitalOcean, Hetzner, OpenStack ...
        "169.254.170.0/24",  # AWS task and pod credentials
        "169.254.42.42/32",  # Scaleway
        "169.254.0.23/32",  # Tencent
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure wire server
        "192.0.0.192/32",  # Oracle classic
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google
        "fd00:42::42/128",  # Scaleway
        "fe80::a9fe:a9fe/128",  # OpenStack
    )
)


def judge_address(address: Address) -> AddressVerdict:
    """Judge one address, and every IPv4 address it carries inside."""
    address = _without_scope(address)
    if _is_metadata(address):
        return AddressVerdict(address, Reason.METADATA)
    if isinstance(address, IPv4Address):
        return AddressVerdict(address, _listed_reason(address, _IPV4_SPECIAL))
    return _judge_ipv6(address)


def _judge_ipv6(address: IPv6Address) -> AddressVerdict:
    envelope: Envelope | None = None
    for envelope, inner in embedded_addresses(address):
        reason = judge_address(inner).reason
        if reason is not None:
            return AddressVerdict(address, reason, envelope, inner)
    if envelope is Envelope.NAT64:
        return AddressVerdict(address)
    reason = _listed_reason(address, _IPV6_SPECIAL)
    if reason is None and address not in _IPV6_GLOBAL_UNICAST:
        reason = Reason.RESERVED
    return AddressVerdict(address, reason, envelope if reason else None)


def embedded_addresses(address: IPv6Address) -> Iterator[tuple[Envelope, IPv4Address]]:
    """Every IPv4 address that a gateway or kernel would read out of this IPv6 address."""
    bits = int(address)
    last = IPv4Address(bits & 0xFFFFFFFF)
    high_96 = bits >> 32
    if high_96 == 0 and int(last) > 1:  # :: and ::1 are themselves, not envelopes
        yield Envelope.IPV4_COMPATIBLE, last
    elif high_96 == 0xFFFF:
        yield Envelope.IPV4_MAPPED, last
    elif high_96 == 0xFFFF_0000:
        yield Envelope.IPV4_TRANSLATED, last
    elif high_96 == 0x0064_FF9B << 64:
        yield Envelope.NAT64, last
    elif bits >> 80 == 0x0064_FF9B_0001:
        yield Envelope.NAT64_LOCAL, last if int(last) else _nat64_split_address(bits)
    elif bits >> 112 == 0x2002:
        yield Envelope.SIX_TO_FOUR, IPv4Address((bits >> 80) & 0xFFFFFFFF)
    elif bits >> 96 == 0x2001_0000:
        yield Envelope.TEREDO, IPv4Address(~bits & 0xFFFFFFFF)  # the client, stored inverted
        yield Envelope.TEREDO, IPv4Address((bits >> 64) & 0xFFFFFFFF)  # its server
    elif (bits >> 32) & 0xFDFF_FFFF == 0x0000_5EFE:  # either setting of the universal bit
        yield Envelope.ISATAP, last


def _nat64_split_address(bits: int) -> IPv4Address:
    """RFC 6052 layout of a /48 prefix: two bytes, a zero byte, two bytes, then zeros."""
    return IPv4Address(((bits >> 64) & 0xFFFF) << 16 | ((bits >> 40) & 0xFFFF))


def _listed_reason(
    address: Address,
    table: tuple[tuple[IPv4Network, Reason], ...] | tuple[tuple[IPv6Network, Reason], ...],
) -> Reason | None:
    return next((reason for network, reason in table if address in network), None)


def _is_metadata(address: Address) -> bool:
    return any(address in network for network in METADATA_NETWORKS)


def _without_scope(address: Address) -> Address:
    # A zone such as %eth0 picks an interface; it never makes an address more public.
    return IPv6Address(int(address)) if isinstance(address, IPv6Address) else address


# -- spellings -----------------------------------------------------------------------------------

# IDNA reads these as a full stop; NFKC turns the two wide ones into the first or into ".".
_IDEOGRAPHIC_STOPS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
_LONGEST_LITERAL = 1025  # what getaddrinfo accepts (NI_MAXHOST)


def literal_address(host: str) -> Address | None:
    """The address this host spells, or None when it is a name.

    Reads every form a C resolver takes for an address: `2130706433`, `0x7f.1`, `0177.0.0.1`,
    `127.1`, a trailing dot, percent-encoding, full-width or circled digits, ideographic dots,
    invisible characters, brackets and zone ids. `127.0.0.1.example.com` is a name.
    """
    if len(host) > _LONGEST_LITERAL:
        return None
    for candidate in (host, unquote(host)):
        found = _parse_literal(_as_a_resolver_reads(candidate))
        if found is not None:
            return found
    return None


def ends_in_a_number(host: str) -> bool:
    """A last label made of digits can only be meant as an address; no public name has one."""
    last_label = host.removesuffix(".").rpartition(".")[2]
    return _NUMBER.fullmatch(last_label) is not None


def _as_a_resolver_reads(host: str) -> str:
    visible = "".join(
        char for char in host if unicodedata.category(char) != "Cf" and not _is_variation(char)
    )
    folded = unicodedata.normalize("NFKC", visible).translate(_IDEOGRAPHIC_STOPS)
    return folded.strip()


def _is_variation(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f"


def _parse_literal(text: str) -> Address | None:
    if text.startswith("[") and text.endswith("]"):
        return _parse_ipv6(text[1:-1])
    if ":" in text:
        return _parse_ipv6(text)
    return _parse_ipv4(text)


def _parse_ipv6(text: str) -> IPv6Address | None:
    try:
        parsed = ip_address(text.partition("%")[0].removesuffix("."))
    except ValueError:
        return None
    return parsed if isinstance(parsed, IPv6Address) else None


def _parse_ipv4(text: str) -> IPv4Address | None:
    """The grammar of inet_aton: one to four numbers, the last filling all bytes that remain."""
    parts = text.removesuffix(".").split(".")
    numbers = [_parse_number(part) for part in parts]
    if len(numbers) > 4 or any(number is None for number in numbers):
        return None
    *leading, last = [number for number in numbers if number is not None]
    free_bytes = 4 - len(leading)
    if any(number > 255 for number in leading) or last >= 256**free_bytes:
        return None
    value = last
    for position, number in enumerate(leading):
        value |= number << (8 * (3 - position))
    return IPv4Address(value)


def _parse_number(text: str) -> int | None:
    if not _NUMBER.fullmatch(text):
        return None
    if text[:2].lower() == "0x":
        return int(text[2:] or "0", 16)
    if len(text) > 1 and text.startswith("0"):
        return int(text, 8) if set(text) <= set("01234567") else None
    return int(text)
