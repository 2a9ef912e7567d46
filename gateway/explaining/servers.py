"""Failures of MCP servers and of our own keys: who can mend what, and where."""

from __future__ import annotations

from gateway.connectors.mcp import error_codes as _declared  # noqa: F401  codes to be explained
from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Refused, Step, Today, Way
from gateway.explaining.wording import (
    ADMIN,
    AGAIN,
    OPERATOR,
    OWNER,
    remedy,
    said,
    titled,
)


@explains("mcp.endpoint_missing", "mcp.forbidden", "signing.key_missing")
def explain_installation(refused: Refused, today: Today) -> Explanation:
    """Something that this installation has to be given: an address, a wider scope, a key."""
    missing = refused.code == "signing.key_missing"
    return Explanation(
        step=Step.BROKER if refused.code != "mcp.endpoint_missing" else Step.INVOKE,
        headline=titled(refused),
        because=said(refused),
        ways=[remedy(refused, ADMIN if missing else OPERATOR)],
        involved=[refused.capability],
    )


@explains(
    "mcp.connection_lost",
    "mcp.not_opened",
    "mcp.rate_limited",
    "mcp.server_failed",
    "mcp.session_lost",
    "mcp.timeout",
)
def explain_server_away(refused: Refused, today: Today) -> Explanation:
    """The server did not answer, or not now."""
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=said(refused),
        ways=[
            AGAIN,
            remedy(refused, OWNER, refused.version),
            Way("Look at the adapter's health: latency, errors, breaker.", OPERATOR),
        ],
        involved=[refused.capability],
    )


@explains(
    "mcp.answer_invalid",
    "mcp.arguments_refused",
    "mcp.protocol_error",
    "mcp.tasks_unavailable",
    "mcp.unknown_tool",
    "mcp.version_mismatch",
)
def explain_server_differs(refused: Refused, today: Today) -> Explanation:
    """The server is not what was reviewed."""
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=said(refused),
        missing=["A server that keeps to the reviewed contract"],
        ways=[
            remedy(refused, OWNER, refused.version),
            Way("Discover the server anew and compare the draft.", ADMIN),
        ],
        involved=[refused.capability],
    )
