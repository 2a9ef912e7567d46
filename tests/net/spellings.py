"""Generates hundreds of ways to write an address that must not be reached."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

FORBIDDEN_IPV4 = {
    "loopback": "127.0.0.1",
    "loopback_high": "127.255.255.254",
    "private_10": "10.0.0.1",
    "private_172": "172.16.5.4",
    "private_192": "192.168.1.1",
    "link_local": "169.254.7.9",
    "metadata": "169.254.169.254",
    "task_credentials": "169.254.170.2",
    "metadata_alibaba": "100.100.100.200",
    "metadata_azure": "168.63.129.16",
    "metadata_oracle": "192.0.0.192",
    "cgnat": "100.64.0.1",
    "unspecified": "0.0.0.0",
    "benchmarking": "198.18.0.1",
    "multicast": "224.0.0.251",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
}
METADATA_NAMES = frozenset(
    {"metadata", "task_credentials", "metadata_alibaba", "metadata_azure", "metadata_oracle"}
)

FORBIDDEN_IPV6 = {
    "loopback": "::1",
    "loopback_long": "0:0:0:0:0:0:0:1",
    "loopback_padded": "0000:0000:0000:0000:0000:0000:0000:0001",
    "unspecified": "::",
    "link_local": "fe80::1",
    "link_local_zone": "fe80::1%25eth0",
    "link_local_bare_zone": "fe80::1%eth0",
    "site_local": "fec0::1",
    "unique_local": "fc00::1",
    "unique_local_fd": "fd12:3456:789a::1",
    "metadata_aws": "fd00:ec2::254",
    "metadata_aws_zone": "fd00:ec2::254%25eth0",
    "metadata_google": "fd20:ce::254",
    "metadata_scaleway": "fd00:42::42",
    "metadata_openstack": "fe80::a9fe:a9fe",
    "multicast": "ff02::1",
    "multicast_global": "ff0e::1",
    "documentation": "2001:db8::1",
    "documentation_new": "3fff::1",
    "benchmarking": "2001:2::1",
    "discard": "100::1",
    "orchid": "2001:20::1",
    "as112": "2620:4f:8000::1",
    "segment_routing": "5f00::1",
    "sixbone": "3ffe::1",
    "outside_global_unicast": "4000::1",
}


def _fullwidth(text: str) -> str:
    return "".join(chr(0xFF10 + int(char)) if char.isdigit() else char for char in text)


def _circled(text: str) -> str:
    return "".join(("⓪" if char == "0" else chr(0x245F + int(char))) for char in text)


def ipv4_spellings(address: str) -> Iterator[tuple[str, str]]:
    """Every way a C resolver, a browser or IDNA reads this IPv4 address."""
    value = int(IPv4Address(address))
    a, b, c, d = address.split(".")
    low_24, low_16 = value & 0xFFFFFF, value & 0xFFFF
    yield "dotted", address
    yield "trailing_dot", f"{address}."
    yield "decimal", str(value)
    yield "hex", hex(value)
    yield "hex_upper", f"0X{value:X}"
    yield "hex_padded", f"0x{value:016x}"
    yield "octal", f"0{value:o}"
    yield "octal_padded", f"000{value:o}"
    yield "two_parts", f"{a}.{low_24}"
    yield "three_parts", f"{a}.{b}.{low_16}"
    yield "hex_parts", ".".join(hex(int(part)) for part in (a, b, c, d))
    yield "octal_parts", ".".join(f"0{int(part):o}" for part in (a, b, c, d))
    yield "octal_parts_padded", ".".join(f"000{int(part):o}" for part in (a, b, c, d))
    yield "mixed_parts", f"{hex(int(a))}.{b}.0{int(c):o}.{d}"
    yield "mixed_short", f"0{int(a):o}.{hex(low_24)}"
    yield "percent_encoded", "".join(f"%{ord(char):02x}" for char in address)
    yield "percent_dots", address.replace(".", "%2E")
    yield "percent_decimal", "".join(f"%{ord(char):02X}" for char in str(value))
    yield "fullwidth_digits", _fullwidth(address)
    yield "fullwidth_dots", address.replace(".", "\uff0e")
    yield "ideographic_dots", address.replace(".", "\u3002")
    yield "halfwidth_ideographic_dots", address.replace(".", "\uff61")
    yield "circled_decimal", _circled(str(value))
    yield "soft_hyphen", f"{a}\u00ad.{b}.{c}.{d}"
    yield "zero_width", f"{a}.{b}\u200b.{c}.{d}"


def ipv6_envelopes(address: str) -> Iterator[tuple[str, str]]:
    """Every IPv6 form that carries this IPv4 address to a gateway or kernel."""
    value = int(IPv4Address(address))
    high, low = value >> 16, value & 0xFFFF
    inverted = value ^ 0xFFFFFFFF
    yield "mapped_dotted", f"::ffff:{address}"
    yield "mapped_hex", f"::ffff:{high:x}:{low:x}"
    yield "mapped_long", f"0:0:0:0:0:FFFF:{high:04X}:{low:04X}"
    yield "mapped_zone", f"::ffff:{address}%25lo"
    yield "compatible", f"::{high:x}:{low:x}"
    yield "translated", f"::ffff:0:{address}"
    yield "nat64", f"64:ff9b::{address}"
    yield "nat64_hex", f"64:ff9b::{high:x}:{low:x}"
    yield "nat64_local", f"64:ff9b:1::{address}"
    yield "nat64_local_split", f"64:ff9b:1:{high:x}:{low >> 8:x}:{(low & 0xFF) << 8:x}::"
    yield "6to4", f"2002:{high:x}:{low:x}::1"
    yield "6to4_bare", f"2002:{high:x}:{low:x}::"
    yield "teredo_client", f"2001:0:808:808:0:1234:{inverted >> 16:x}:{inverted & 0xFFFF:x}"
    yield "teredo_server", f"2001:0:{high:x}:{low:x}:0:1234:f7f7:f7f7"
    yield "isatap", f"2606:4700::5efe:{address}"
    yield "isatap_universal", f"2606:4700::200:5efe:{address}"


def forbidden_hosts() -> list[tuple[str, str]]:
    """(id, host as written in a URL), all distinct."""
    rows: list[tuple[str, str]] = []
    for name, address in FORBIDDEN_IPV4.items():
        rows += [(f"{name}-{form}", host) for form, host in ipv4_spellings(address)]
        rows += [(f"{name}-{form}", f"[{host}]") for form, host in ipv6_envelopes(address)]
    rows += [(f"ipv6-{name}", f"[{host}]") for name, host in FORBIDDEN_IPV6.items()]
    distinct: dict[str, str] = {}
    for name, host in rows:
        distinct.setdefault(host, name)
    return [(name, host) for host, name in distinct.items()]


def metadata_hosts() -> list[tuple[str, str]]:
    """The subset that no rule may open."""
    return [
        row
        for row in forbidden_hosts()
        if row[0].split("-")[0] in METADATA_NAMES or row[0].startswith("ipv6-metadata")
    ]


def forbidden_answers() -> list[str]:
    """The same addresses as a name server would hand them out."""
    answers = list(FORBIDDEN_IPV4.values())
    for address in FORBIDDEN_IPV4.values():
        answers += [str(IPv6Address(h.partition("%")[0])) for _, h in ipv6_envelopes(address)]
    answers += [str(IPv6Address(host.partition("%")[0])) for host in FORBIDDEN_IPV6.values()]
    return sorted(set(answers))
