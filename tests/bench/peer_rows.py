"""The same read through ContextForge and through us: CPU per call, as a ratio of one run."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.bench.contextforge import NotThereError, Peer, contextforge
from tests.bench.mcp_rows import TEXT, mcp_server
from tests.bench.measure import Row
from tests.bench.rest_upstream import MODULE, rest_upstream
from tests.bench.served import Served, served
from tests.gateway.connectors.mcp.governed import probe_world
from tests.gateway.world import GatewayWorld

ROUNDS = 7
OURS_PER_ROUND, THEIRS_PER_ROUND = 200, 20
_ARGS = {"order_id": "ord_0001"}


@dataclass(frozen=True, slots=True)
class _Side:
    """A gateway, one call through it, and how often a round makes it: ticks are 10 ms long."""

    call: Callable[[], object]
    cpu_seconds: Callable[[], float]
    calls: int

    def cpu_per_call(self) -> float:
        before = self.cpu_seconds()
        for _ in range(self.calls):
            self.call()
        return (self.cpu_seconds() - before) / self.calls


def peer_rows() -> Iterator[Row]:
    """Both rows; where the peer can't be had the reason is said and there are none."""
    try:
        with contextforge() as peer, mcp_server() as mcp_url, rest_upstream() as rest_url:
            _register(peer, mcp_url, rest_url)
            yield _rest_row(peer)
            yield _mcp_row(peer, mcp_url)
    except NotThereError as fault:
        sys.stderr.write(f"bench: no ContextForge rows: {fault}\n")


def _register(peer: Peer, mcp_url: str, rest_url: str) -> None:
    peer.ask("POST", "/gateways", {"name": "probe", "url": mcp_url, "transport": "STREAMABLEHTTP"})
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    tool = {
        "name": "lookup",
        "url": rest_url,
        "integration_type": "REST",
        "request_type": "POST",
        "description": "Look an order up.",
        "input_schema": schema,
    }
    peer.ask("POST", "/tools", {"tool": tool})


def _rest_row(peer: Peer) -> Row:
    """Ours counts its runner too: the function in it is what asks the far side."""
    with served(GatewayWorld(), functions=MODULE) as gateway:
        ours = _Side(gateway.lookup, gateway.cpu_seconds_with_runners, OURS_PER_ROUND)
        theirs = _Side(peer.rest_caller("lookup", _ARGS), peer.cpu_seconds, THEIRS_PER_ROUND)
        ratio = _ratio(ours, theirs)
        _require_clean(gateway)
    return Row("contextforge_cpu_ratio_rest", ratio, "x", must=10, aim=20, higher_is_better=True)


def _mcp_row(peer: Peer, url: str) -> Row:
    found = peer.ask("GET", "/tools")
    tools = found if isinstance(found, list) else found["tools"]
    tool = next(one for one in tools if one["name"] == "probe-echo")
    server = {"server": {"name": "probes", "associated_tools": [tool["id"]]}}
    server_id = peer.ask("POST", "/servers", server)["id"]
    with (
        served(probe_world(url)) as gateway,
        peer.mcp_caller(server_id, "probe-echo", TEXT) as call,
    ):
        gateway.environment = "development"
        gateway.asked = {"capability_id": "probe.say", "args": TEXT}
        ours = _Side(gateway.lookup, gateway.cpu_seconds, OURS_PER_ROUND)
        ratio = _ratio(ours, _Side(call, peer.cpu_seconds, THEIRS_PER_ROUND))
        _require_clean(gateway)
    return Row("contextforge_cpu_ratio_mcp", ratio, "x", must=5, aim=8, higher_is_better=True)


def _require_clean(gateway: Served) -> None:
    if gateway.errors:
        raise RuntimeError(f"{gateway.errors} governed reads failed")


def _ratio(ours: _Side, theirs: _Side) -> float:
    """Their CPU over ours: medians of rounds whose order alternates; the first warms up."""
    spent: dict[_Side, list[float]] = {ours: [], theirs: []}
    for number in range(ROUNDS + 1):
        order = (ours, theirs) if number % 2 else (theirs, ours)
        for side in order:
            each = side.cpu_per_call()
            if number:
                spent[side].append(each)
    sys.stderr.write(
        f"bench: CPU ms a call, ours {statistics.median(spent[ours]) * 1000:.2f}, "
        f"ContextForge {statistics.median(spent[theirs]) * 1000:.2f}\n"
    )
    return statistics.median(spent[theirs]) / statistics.median(spent[ours])
