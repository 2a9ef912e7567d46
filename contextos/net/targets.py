"""Turns a URL into the one reading of it that is judged, dialled and sent.

Parsers that disagree about a URL are how address checks are walked around, so this grammar is
narrow: anything two clients could read differently is refused instead of repaired.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin

import idna

from contextos.net.addresses import ends_in_a_number, literal_address
from contextos.net.failures import failure

DEFAULT_PORTS = {"http": 80, "https": 443}

_LONGEST_URL = 8192
_LONGEST_HOST = 253
_AMBIGUOUS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\\]")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# Characters RFC 3986 allows in a path or query, and "%" because callers encode what is special.
_SAFE_IN_TARGET = "%/:?@!$&'()*+,;=-._~[]"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. `host` is canonical; `path` carries the query and is never shown."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The Host header: the port is named only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """What messages and logs may say: a path or query can hold a secret."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.path}"

    def __repr__(self) -> str:
        return f"<Target {self.origin}>"


def parse_target(url: str) -> Target:
    """Read a URL, or refuse it without repeating any of it that could be secret."""
    if len(url) > _LONGEST_URL:
        raise _invalid("The URL is too long.")
    if _AMBIGUOUS.search(url):
        raise _invalid("The URL holds white space, a control character or a backslash.")
    match = _URL.fullmatch(url)
    if match is None:
        raise _invalid("The URL is not of the form https://host/path.")
    scheme, authority, path, query = match.groups(default="")
    scheme = scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise _invalid("Only http and https URLs can be called.", scheme=scheme)
    host, port = _split_authority(authority, scheme)
    return Target(scheme, host, port, quote((path or "/") + query, safe=_SAFE_IN_TARGET))


def join_target(base: Target, location: str) -> Target:
    """The target a Location header points at, seen from the request that received it."""
    if _AMBIGUOUS.search(location):
        raise _invalid("The redirect holds white space, a control character or a backslash.")
    try:
        joined = urljoin(base.url, location)
    except ValueError:
        raise _invalid("The redirect is not a URL.") from None
    return parse_target(joined)


def canonical_host(host: str) -> str:
    """One spelling per host: plain address, or lower-case ASCII name without a trailing dot."""
    literal = literal_address(host)
    if literal is not None:
        return str(literal)
    name = _ascii_name(host.removesuffix("."))
    if len(name) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise _invalid("The URL's host is neither a host name nor an address.")
    if ends_in_a_number(name):
        raise _invalid("The URL's host looks like an address but is none.")
    return name


def _ascii_name(name: str) -> str:
    if name.isascii():
        return name.lower()
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except UnicodeError:
        raise _invalid("The URL's host is not a valid international name.") from None


def split_host_port(text: str) -> tuple[str, int | None]:
    """`host`, `host:port` or `[v6]:port`, the host in canonical form."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        raise _invalid("The host and port can't be read.")
    host, port = match.groups()
    if not host:
        raise _invalid("The URL names no host.")
    if port is not None and not 1 <= int(port) <= 65535:
        raise _invalid("The port must lie between 1 and 65535.")
    return canonical_host(host), int(port) if port is not None else None


def _split_authority(authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        raise _invalid("The URL holds a user name or password; pass credentials as a header.")
    host, port = split_host_port(authority)
    return host, port if port is not None else DEFAULT_PORTS[scheme]


def _invalid(message: str, **data: object) -> Exception:
    return failure("egress.url_invalid", message, **data)
