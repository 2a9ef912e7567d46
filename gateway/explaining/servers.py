"""Failures of MCP servers and of our own keys: who can mend what, and where."""

from __future__ import annotations

from contextos.core.errors import spec_for
from gateway.connectors.mcp import error_codes as _declared  # noqa: F401  codes to be explained
from gateway.explaining.outcomes import version_of
from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Refused, Step, Today, Way
from gateway.explaining.wording import ADMIN, DEVELOPER, OPERATOR, OWNER, said

_AGAIN = Way("Call again later with the same key.", DEVELOPER)


@explains("mcp.endpoint_missing", "mcp.forbidden", "signing.key_missing")
def explain_installation(refused: Refused, today: Today) -> Explanation:
    """Something that this installation has to be given: an address, a wider scope, a key."""
    missing = refused.code == "signing.key_missing"
    return Explanation(
        step=Step.BROKER if refused.code != "mcp.endpoint_missing" else Step.INVOKE,
        headline=f"{spec_for(refused.code).title}.",
        because=said(refused),
        ways=[Way(spec_for(refused.code).remediation, ADMIN if missing else OPERATOR)],
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
    spec = spec_for(refused.code)
    return Explanation(
        step=Step.INVOKE,
        headline=f"{spec.title}.",
        because=said(refused),
        ways=[
            _AGAIN,
            Way(spec.remediation, OWNER, version_of(refused)),
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
        headline=f"{spec_for(refused.code).title}.",
        because=said(refused),
        missing=["A server that keeps to the reviewed contract"],
        ways=[
            Way(spec_for(refused.code).remediation, OWNER, version_of(refused)),
            Way("Discover the server anew and compare the draft.", ADMIN),
        ],
        involved=[refused.capability],
    )
