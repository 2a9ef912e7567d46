"""The one door to the network: judged hosts, pinned addresses, bounded time and size."""

from contextos.net.addresses import (
    Address,
    AddressVerdict,
    Envelope,
    Reason,
    judge_address,
    literal_address,
)
from contextos.net.client import OutboundClient, Timeouts, open_client
from contextos.net.messages import Response
from contextos.net.pools import close_pools
from contextos.net.resolve import Resolver, SystemResolver
from contextos.net.rules import EgressPolicy, EgressRule
from contextos.net.targets import Target, canonical_host, parse_target
from contextos.net.tls import build_tls_context

__all__ = [
    "Address",
    "AddressVerdict",
    "EgressPolicy",
    "EgressRule",
    "Envelope",
    "OutboundClient",
    "Reason",
    "Resolver",
    "Response",
    "SystemResolver",
    "Target",
    "Timeouts",
    "build_tls_context",
    "canonical_host",
    "close_pools",
    "judge_address",
    "literal_address",
    "open_client",
    "parse_target",
]
