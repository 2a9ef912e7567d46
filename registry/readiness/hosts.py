"""Reads the hosts a URL could mean to any client, and says which of them are private."""

import re
import unicodedata
from collections.abc import Iterator

from contextos.net.addresses import judge_address, literal_address

_HTTP = re.compile(r"https?:[/\\]*([^/?#]*)", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_IGNORED_BY_BROWSERS = re.compile(r"[\x00-\x20\x7f\u200b-\u200f\u2060\ufeff]")
_PORT = re.compile(r":\d*$")
_LEADING_ZEROS = re.compile(r"(?<![0-9a-z])0+(?=[0-9])", re.IGNORECASE)

_LOOPBACK_NAMES = frozenset(
    {"localhost", "localhost6", "ip6-localhost", "ip6-loopback", "loopback", "broadcasthost"}
)
# Never delegated in the public DNS: RFC 6761, RFC 6762, RFC 8375, and ICANN's private-use name.
_PRIVATE_SUFFIXES = ("localhost", "local", "internal", "home.arpa", "localdomain")
_METADATA_NAMES = frozenset({"metadata", "instance-data", "metadata.goog", "metadata.azure.com"})
_COMPANY_SUFFIXES = ("lan", "corp", "home", "intranet", "private")


def scheme_of(url: str) -> str:
    """The scheme a browser would see, in lower case; empty for a relative reference."""
    match = _SCHEME.match(_IGNORED_BY_BROWSERS.sub("", url))
    return match.group(1).lower() if match else ""


def is_http_url(url: str) -> bool:
    """Whether any client would take this for an http or https address."""
    return _HTTP.match(_IGNORED_BY_BROWSERS.sub("", url)) is not None


def private_host(url: str) -> str:
    """Why one of the hosts this URL could mean is private, or nothing."""
    for host in _hosts(url):
        reason = _why_private(host)
        if reason:
            return reason
    return ""


def doubtful_host(url: str) -> str:
    """The host, if it is a name that only a private network is likely to know."""
    for host in _hosts(url):
        name = _folded(host)
        if literal_address(host) is None and name and "{" not in name:
            last = name.rpartition(".")[2]
            if "." not in name or last in _COMPANY_SUFFIXES:
                return name
    return ""


def _hosts(url: str) -> Iterator[str]:
    """Browsers end the authority at a backslash, other clients do not; both readings count."""
    match = _HTTP.match(_IGNORED_BY_BROWSERS.sub("", url))
    if match is None:
        return
    authority = match.group(1)
    for reading in {authority: None, authority.partition("\\")[0]: None}:
        yield _without_port(reading.rpartition("@")[2])


def _without_port(authority: str) -> str:
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return _PORT.sub("", authority)


def _why_private(host: str) -> str:
    # 010.0.0.1 is octal to a C resolver and decimal to others; both readings count.
    for spelling in dict.fromkeys((host, _LEADING_ZEROS.sub("", host))):
        address = literal_address(spelling)
        verdict = judge_address(address) if address is not None else None
        if verdict is not None and not verdict.is_public:
            return f"the {_words(verdict.label)} address {address}"
    name = _folded(host)
    if name in _LOOPBACK_NAMES or name in _METADATA_NAMES or _has_suffix(name, _PRIVATE_SUFFIXES):
        return f"the private name {name}"
    return ""


def _folded(host: str) -> str:
    return unicodedata.normalize("NFKC", host).lower().strip().removesuffix(".")


def _has_suffix(name: str, suffixes: tuple[str, ...]) -> bool:
    return any(name == suffix or name.endswith(f".{suffix}") for suffix in suffixes)


def _words(reason: str) -> str:
    return reason.replace("_", "-").replace(":", " ")
