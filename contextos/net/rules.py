"""Who may be called: the frozen egress rule a caller brings, and the policy that applies it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextos.core.errors import ContextOSError
from contextos.net.addresses import Address, AddressVerdict, Reason, judge_address, literal_address
from contextos.net.failures import failure
from contextos.net.targets import DEFAULT_PORTS, Target, split_host_port

# What "private" opens. Link-local stays shut even then: control planes live there, not services.
_OPEN_WHEN_PRIVATE = frozenset({Reason.LOOPBACK, Reason.PRIVATE, Reason.UNIQUE_LOCAL, Reason.CGNAT})
_ENVIRONMENTS_WITH_PRIVATE_HOSTS = frozenset({"development", "workstation"})


@dataclass(frozen=True, slots=True)
class EgressRule:
    """An allow-list and its conditions. Hashable: equal rules share one connection pool.

    `hosts` entries are `name`, `name:port`, an address, or `*.suffix` (with or without a port) for
    every name below the suffix but not the suffix itself. Without a port only the port of the
    scheme is meant. An empty list allows nothing. `allow_private` opens loopback, RFC 1918, unique
    local and carrier-grade NAT addresses of listed hosts; metadata services are never opened.
    """

    hosts: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("https", "http")
    allow_private: bool = False
    https_required: bool = True

    def __post_init__(self) -> None:
        canonical = sorted({_canonical_entry(entry) for entry in self.hosts})
        object.__setattr__(self, "hosts", tuple(canonical))
        object.__setattr__(self, "schemes", tuple(sorted({*map(str.lower, self.schemes)})))
        unknown = set(self.schemes) - DEFAULT_PORTS.keys()
        if unknown:
            raise failure("egress.rule_invalid", "A rule can name only the schemes http and https.")

    @classmethod
    def for_environment(cls, environment: str, hosts: Iterable[str]) -> "EgressRule":
        """The house rule: plain http and private hosts only where a developer sits."""
        relaxed = environment in _ENVIRONMENTS_WITH_PRIVATE_HOSTS
        return cls(hosts=tuple(hosts), allow_private=relaxed, https_required=not relaxed)


class EgressPolicy:
    """Applies one rule: to a target before it is dialled, to its addresses after DNS."""

    def __init__(self, rule: EgressRule) -> None:
        self.rule = rule
        self._entries = frozenset(rule.hosts)
        self._suffixes = tuple(entry[1:] for entry in rule.hosts if entry.startswith("*."))
        usable = [s for s in rule.schemes if s == "https" or not rule.https_required]
        self._default_ports = frozenset(DEFAULT_PORTS[scheme] for scheme in usable)

    def admit_target(self, target: Target) -> None:
        """Refuse a scheme or host the rule does not name."""
        if target.scheme == "http" and self.rule.https_required:
            message = f"{target.host} must be called over https."
            raise failure("egress.https_required", message, host=target.host)
        if target.scheme not in self.rule.schemes:
            message = f"{target.scheme} is not among the schemes allowed for {target.host}."
            raise failure("egress.host_not_allowed", message, host=target.host)
        self.admit_host(target.host, target.port)

    def admit_host(self, host: str, port: int) -> None:
        """Refuse a host and port that the allow-list does not hold."""
        if not self._lists(host, port):
            message = f"{host} port {port} is not on the allow-list."
            raise failure("egress.host_not_allowed", message, host=host, port=port)

    def admit_addresses(self, host: str, addresses: Sequence[Address]) -> None:
        """Refuse the host if any one of its addresses is bad: which one is dialled is luck."""
        for address in addresses:
            verdict = judge_address(address)
            if not self._is_open(verdict):
                raise refused_address(host, verdict)

    def _lists(self, host: str, port: int) -> bool:
        shown = f"[{host}]" if ":" in host else host
        if f"{shown}:{port}" in self._entries:
            return True
        if port in self._default_ports and shown in self._entries:
            return True
        return any(self._below(host, port, suffix) for suffix in self._suffixes)

    def _below(self, host: str, port: int, entry: str) -> bool:
        suffix, _, listed_port = entry.partition(":")
        port_fits = int(listed_port) == port if listed_port else port in self._default_ports
        return port_fits and host.endswith(suffix) and len(host) > len(suffix)

    def _is_open(self, verdict: AddressVerdict) -> bool:
        if verdict.is_public:
            return True
        private = verdict.reason in _OPEN_WHEN_PRIVATE and verdict.envelope is None
        return private and self.rule.allow_private


def refused_address(host: str, verdict: AddressVerdict) -> ContextOSError:
    message = f"{host} leads to {verdict.address}, which is not a public address ({verdict.label})."
    return failure(
        "egress.private_address",
        message,
        host=host,
        ip=str(verdict.address),
        reason=verdict.label,
    )


def _canonical_entry(entry: str) -> str:
    wildcard = entry.startswith("*.")
    try:
        host, port = split_host_port(entry[2:] if wildcard else entry)
    except ContextOSError:
        raise _invalid_entry(entry) from None
    if wildcard and literal_address(host) is not None:
        raise _invalid_entry(entry)
    shown = f"[{host}]" if ":" in host else host
    prefix = "*." if wildcard else ""
    return f"{prefix}{shown}:{port}" if port is not None else f"{prefix}{shown}"


def _invalid_entry(entry: str) -> ContextOSError:
    message = "An entry of the allow-list is not a host name, address or *.suffix."
    return failure("egress.rule_invalid", message, entry=entry)
