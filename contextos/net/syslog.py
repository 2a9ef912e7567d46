"""Syslog out of the door: RFC 5424 lines over TCP, TLS or UDP, to judged addresses only.

Syslog has no answer. Over TCP and TLS a batch counts as taken when the receiver, having read to
our end of the connection, closes it in turn: a receiver that dies with unread lines resets the
connection instead, and the batch is sent again. Over UDP nobody can know.
"""

import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from contextos.net.addresses import Address, literal_address
from contextos.net.failures import failure
from contextos.net.resolve import Resolver, SystemResolver, admitted_addresses
from contextos.net.rules import EgressPolicy, EgressRule
from contextos.net.targets import split_host_port
from contextos.net.tls import build_tls_context, shared_tls_context

DEADLINE_SECONDS = 10.0
MOST_DATAGRAM = 8 * 1024
_READ = 4096
_system = SystemResolver()


class SyslogKind(StrEnum):
    """How lines travel."""

    TCP = "tcp"
    TLS = "tls"
    UDP = "udp"


_PORTS = {SyslogKind.TCP: 514, SyslogKind.TLS: 6514, SyslogKind.UDP: 514}


@dataclass(frozen=True, slots=True)
class SyslogPlace:
    """Where lines go; `authority` is a PEM that is trusted instead of the usual ones."""

    kind: SyslogKind
    host: str
    port: int
    authority: str = ""

    @property
    def name(self) -> str:
        """As pages and messages write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.kind.value}://{host}:{self.port}"


def parse_place(kind: SyslogKind, text: str, *, authority: str = "") -> SyslogPlace:
    """`host` or `host:port`; without a port the usual one of the kind."""
    host, port = split_host_port(text.strip())
    return SyslogPlace(kind, host, port or _PORTS[kind], authority.strip())


def check_place(place: SyslogPlace, *, environment: str) -> None:
    """Refuse on entry what could never be sent to; names are judged again after each lookup."""
    policy = _policy(place, environment)
    literal = literal_address(place.host)
    if literal is not None:
        policy.admit_addresses(place.host, [literal])
    if place.authority:
        build_tls_context(ca_data=place.authority)


def send_lines(
    place: SyslogPlace,
    lines: Sequence[bytes],
    *,
    environment: str,
    proxy: str | None,
    resolver: Resolver = _system,
) -> None:
    """Send a batch, in order; anything short of being taken is a coded error."""
    if proxy:
        message = "An egress proxy is set, and syslog does not pass it: use a webhook."
        raise failure("egress.proxy_only", message, host=place.host)
    until = time.monotonic() + DEADLINE_SECONDS
    addresses = admitted_addresses(
        _policy(place, environment), resolver, host=place.host, port=place.port, timeout=3.0
    )
    if place.kind is SyslogKind.UDP:
        _send_datagrams(place, addresses[0], lines)
    else:
        _send_framed(place, addresses, b"".join(map(framed, lines)), until)


def framed(line: bytes) -> bytes:
    """Octet counting, as RFC 5425 and RFC 6587 have it: a line may hold anything."""
    return b"%d %s" % (len(line), line)


def _policy(place: SyslogPlace, environment: str) -> EgressPolicy:
    """The house rule: plain lines and private hosts only where a developer sits."""
    host = f"[{place.host}]" if ":" in place.host else place.host
    rule = EgressRule.for_environment(environment, [f"{host}:{place.port}"])
    if rule.https_required and place.kind is not SyslogKind.TLS:
        message = f"{place.host} must be reached over TLS."
        raise failure("egress.https_required", message, host=place.host)
    policy = EgressPolicy(rule)
    policy.admit_host(place.host, place.port)
    return policy


def _send_datagrams(place: SyslogPlace, address: Address, lines: Sequence[bytes]) -> None:
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            for line in lines:
                sender.sendto(line[:MOST_DATAGRAM], (str(address), place.port))
    except OSError as fault:
        raise _unreachable(place, fault) from fault


def _send_framed(
    place: SyslogPlace, addresses: Sequence[Address], content: bytes, until: float
) -> None:
    try:
        with closing(_connected(place, addresses, until)) as connection:
            connection.settimeout(_left(until))
            connection.sendall(content)
            _await_end(connection, until)
    except TimeoutError as fault:
        message = f"{place.host} port {place.port} did not take the lines in time."
        raise failure("egress.deadline", message, host=place.host) from fault
    except ssl.SSLError as fault:
        reason = getattr(fault, "verify_message", None) or fault.reason or "the handshake failed"
        message = f"No trusted TLS connection to {place.host}: {reason}."
        raise failure("egress.tls", message, host=place.host) from fault
    except OSError as fault:
        raise _unreachable(place, fault) from fault


def _connected(place: SyslogPlace, addresses: Sequence[Address], until: float) -> socket.socket:
    failed: OSError = ConnectionError("no address")
    for address in addresses:
        try:
            plain = socket.create_connection((str(address), place.port), _left(until))
        except OSError as fault:
            failed = fault
            continue
        return plain if place.kind is SyslogKind.TCP else _secured(place, plain)
    raise failed


def _secured(place: SyslogPlace, plain: socket.socket) -> socket.socket:
    trusted = place.authority
    context = build_tls_context(ca_data=trusted) if trusted else shared_tls_context()
    try:
        return context.wrap_socket(plain, server_hostname=place.host)
    except BaseException:
        plain.close()
        raise


def _await_end(connection: socket.socket, until: float) -> None:
    """Say that nothing follows, and wait until the receiver has read that."""
    if isinstance(connection, ssl.SSLSocket):
        _end_tls(connection, until)
        return
    connection.shutdown(socket.SHUT_WR)
    _read_to_end(connection, until)


def _end_tls(connection: ssl.SSLSocket, until: float) -> None:
    connection.settimeout(_left(until))
    try:
        plain = connection.unwrap()
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return  # it closed without TLS's own goodbye, but not by a reset: everything was read
    with closing(plain):
        plain.shutdown(socket.SHUT_WR)
        _read_to_end(plain, until)


def _read_to_end(connection: socket.socket, until: float) -> None:
    while True:
        connection.settimeout(_left(until))
        if not connection.recv(_READ):
            return


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _unreachable(place: SyslogPlace, fault: OSError) -> Exception:
    reason = fault.strerror or type(fault).__name__
    message = f"{place.host} port {place.port} did not take the lines: {reason}."
    return failure("egress.connect_failed", message, host=place.host, port=place.port)
