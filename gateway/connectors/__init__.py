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
    raise coded_error("connector.unavailable", data={"protocol": protocol})
