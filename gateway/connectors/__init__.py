"""Connectors: one folder per protocol, each copied from a sibling, with a tiny base."""

from __future__ import annotations

from functools import cache

from contextos.core.errors import coded_error
from gateway.connectors.base import Connector


@cache
def connector_for(protocol: str) -> Connector:
    """The connector of a protocol; one that is not built yet is said to be so."""
    if protocol == "function":
        from gateway.connectors.function.connector import FunctionConnector

        return FunctionConnector()
    if protocol == "mcp":
        from gateway.connectors.mcp.connector import McpConnector

        return McpConnector()
    raise coded_error("connector.unavailable", data={"protocol": protocol})


def preload() -> None:
    """Import what the first call would: the MCP client alone takes a second of its deadline."""
    for protocol in ("function", "mcp"):
        connector_for(protocol)


def close() -> None:
    """Say goodbye to the servers we have sessions with, where a process knows that it ends."""
    from gateway.connectors.mcp.portal import close_sessions

    close_sessions()
