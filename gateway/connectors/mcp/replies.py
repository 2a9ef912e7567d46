"""What a tool's result says to the gateway: an output, or the tool's own no (C13)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from gateway.connectors.base import Reply, ReplyKind
from gateway.connectors.mcp.sessions import Used
from gateway.connectors.mcp.wire import META_MUTATIONS

_PREFIX = re.compile(r"^Error executing tool [^:]{1,200}: ")  # added by SDK servers
_CODED = re.compile(r"^([A-Z][A-Z0-9_]{2,99}): *(.*)", re.DOTALL)
_ERROR_MEMBERS = ("code", "message", "retryable", "remediation")


def reply_of(used: Used, *, expects_output: bool) -> Reply:
    """The reply for a tool's result."""
    result: types.CallToolResult = used.result
    kept: dict[str, Any] = {"server": used.server, "egress": used.egress}
    if result.is_error:
        return Reply(
            kind=ReplyKind.TOOL_ERROR,
            error=tool_error(result),
            upstream_status="tool_error",
            **kept,
        )
    output = output_of(result, expects_output=expects_output)
    changes = (result.meta or {}).get(META_MUTATIONS) or ()
    return Reply(
        kind=ReplyKind.OUTPUT, output=output, upstream_status="ok", mutations=changes, **kept
    )


def output_of(result: types.CallToolResult, *, expects_output: bool) -> Any:
    """Structured content; JSON in a lone text where a schema is pinned; else the content itself."""
    if result.structured_content is not None:
        return result.structured_content
    if expects_output:
        found = _json_of(_lone_text(result))
        if found is not None:
            return found
    return {
        "content": [
            item.model_dump(by_alias=True, mode="json", exclude_none=True)
            for item in result.content
        ]
    }


def tool_error(result: types.CallToolResult) -> dict[str, Any]:
    """Code, message, retryable and remediation as far as the tool gave them, in any usual way."""
    stated = _stated(result.structured_content or _json_of(_lone_text(result)))
    if isinstance(stated.get("code"), str):
        return {name: stated[name] for name in _ERROR_MEMBERS if name in stated}
    text = _PREFIX.sub("", " ".join(_texts(result)))
    match = _CODED.match(text)
    return {"code": match[1], "message": match[2]} if match else {"message": text}


def _stated(found: Any) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        return {}
    inner = found.get("error")
    return inner if isinstance(inner, Mapping) else found


def _texts(result: types.CallToolResult) -> list[str]:
    return [item.text for item in result.content if isinstance(item, types.TextContent)]


def _lone_text(result: types.CallToolResult) -> str:
    texts = _texts(result)
    return texts[0] if len(texts) == len(result.content) == 1 else ""


def _json_of(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return strict_json.loads(text)
    except ContextOSError:
        return None
