"""What a failure on the way to a server amounts to (C13)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import mcp_types as types
from mcp import MCPError

from contextos.core.errors import ContextOSError, coded_error
from gateway.connectors.base import EGRESS, SERVER
from gateway.connectors.mcp import error_codes  # noqa: F401  declares them
from gateway.connectors.mcp.wire import CallExchange
from gateway.credentials.error_codes import REFUSED

LONGEST_RETRY_AFTER = 3600
LARGEST_RPC_CODE = 2**31
MOST_SCOPES = 20
_SCOPES = re.compile(r"(?:^|[\s,])scope=\"([\x21\x23-\x5b\x5d-\x7e ]{1,500})\"", re.IGNORECASE)
_SDK_STAND_IN = "Server returned an error response"
_BY_STATUS = {401: REFUSED, 403: "mcp.forbidden", 429: "mcp.rate_limited"}
# The door's words for "it broke on the way"; the other codes of the door say more themselves.
_BROKEN = frozenset({"egress.protocol", "egress.deadline"})
_BY_RPC = {
    types.METHOD_NOT_FOUND: "mcp.unknown_tool",
    types.INVALID_PARAMS: "mcp.arguments_refused",
    types.INTERNAL_ERROR: "mcp.server_failed",
    types.PARSE_ERROR: "mcp.answer_invalid",
    types.REQUEST_TIMEOUT: "mcp.timeout",
    types.CONNECTION_CLOSED: "mcp.connection_lost",
}


def is_stale(exchange: CallExchange) -> bool:
    """The server has forgotten the session, and refused the request without looking at it: 404 by
    the protocol, 400 with an error of their own by many servers."""
    own = exchange.status == 400 and exchange.rpc_code in {None, types.CONNECTION_CLOSED}
    return exchange.status == 404 or own


def is_useless(exchange: CallExchange) -> bool:
    """Whether the session is better opened anew: the server took offence at the request itself."""
    status = exchange.status or 0
    return is_stale(exchange) or (400 <= status < 500 and status not in _BY_STATUS)


def coded(
    fault: BaseException,
    exchange: CallExchange,
    *,
    opening: bool = False,
    server: Mapping[str, Any] | None = None,
) -> ContextOSError:
    """The coded error for whatever was raised, with whether the server may have seen the call."""
    inner = _innermost(fault)
    exchange.rpc_code = _code_of(inner)
    found = _coded(inner, exchange)
    if opening:
        found = _of_opening(found)
    sent = exchange.request_sent and not opening
    data = {**found.data, "request_sent": sent}
    if exchange.peer_ip:
        data[EGRESS] = {"host": exchange.host, "ip": exchange.peer_ip}
    if server:
        data[SERVER] = dict(server)
    found.data = MappingProxyType(data)
    return found


def _coded(fault: BaseException, exchange: CallExchange) -> ContextOSError:
    if isinstance(fault, ContextOSError):
        return fault
    if isinstance(fault, TimeoutError) or _code_of(fault) == types.REQUEST_TIMEOUT:
        return coded_error("mcp.timeout")
    if exchange.fault is not None:
        return _of_the_door(exchange.fault)
    if is_stale(exchange):
        return coded_error("mcp.session_lost", data={"status": exchange.status})
    by_status = _BY_STATUS.get(exchange.status or 0)
    if by_status is not None:
        return _refused(by_status, exchange)
    if exchange.status is not None and exchange.status >= 500:
        return coded_error("mcp.server_failed", data={"status": exchange.status})
    if isinstance(fault, MCPError):
        return _of_the_server(fault, exchange)
    if isinstance(fault, ValueError):  # pydantic's, too: a result that is no result
        return coded_error("mcp.answer_invalid")
    return coded_error("mcp.connection_lost")


def _of_the_door(fault: ContextOSError) -> ContextOSError:
    return coded_error("mcp.connection_lost") if fault.code in _BROKEN else fault


def _of_the_server(fault: MCPError, exchange: CallExchange) -> ContextOSError:
    """The server's own words stay out: they may quote arguments, and a record can't be erased."""
    known = abs(fault.code) <= LARGEST_RPC_CODE  # a larger one has no place in a record
    data: dict[str, Any] = {"rpc_code": fault.code} if known else {}
    if _is_bad_content_type(fault, exchange):
        return coded_error("mcp.answer_invalid", data=data)
    return coded_error(_BY_RPC.get(fault.code, "mcp.protocol_error"), data=data)


def _is_bad_content_type(fault: MCPError, exchange: CallExchange) -> bool:
    # The SDK's own word, for an answer of 200 in a type that can hold no message.
    return fault.code == types.INVALID_REQUEST and exchange.status in {200, 202}


def _refused(code: str, exchange: CallExchange) -> ContextOSError:
    after = exchange.retry_after
    seconds = min(int(after[:9]), LONGEST_RETRY_AFTER) if after.isdecimal() else None
    data: dict[str, Any] = {"status": exchange.status}
    scopes = _scopes_asked(exchange.challenge)
    if scopes:
        data["scopes_asked"] = scopes
    return coded_error(
        code,
        data=data,
        retry_after_ms=None if seconds is None else seconds * 1000,
    )


def _scopes_asked(challenge: str) -> list[str]:
    """What a server says it wants more (RFC 6750). It is told, and never asked for: which scopes a
    capability may have stands in its reviewed manifest."""
    found = _SCOPES.search(challenge)
    return found[1].split()[:MOST_SCOPES] if found else []


def _of_opening(fault: ContextOSError) -> ContextOSError:
    """Before there is a session no tool was called, whatever the handshake ran into."""
    said = fault.code.startswith("egress.") or fault.code in _SAID_AS_IS
    return (
        fault if said else coded_error("mcp.not_opened", data={**fault.data, "cause": fault.code})
    )


_SAID_AS_IS = frozenset({"mcp.version_mismatch", *_BY_STATUS.values()})


def _innermost(fault: BaseException) -> BaseException:
    """Task groups wrap what their tasks raise."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault


def _code_of(fault: BaseException) -> int | None:
    """The server's code; None where the SDK speaks for a server that answered no JSON-RPC error."""
    if not isinstance(fault, MCPError) or fault.message == _SDK_STAND_IN:
        return None
    return fault.code
