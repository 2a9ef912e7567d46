"""The gateway's bodies and envelopes in the API description: the very schemas that are enforced."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter

from contextos.core import strict_json
from contextos.restkit.openapi import refusals_of
from gateway.api.bodies import body_schema
from registry.api.schema_files import published_schemas

# Name in the description -> published file.
_COMPONENTS = {
    "PlanVerdict": "plan-verdict",
    "ReplayPacket": "replay-packet",
    "RunContext": "run-context",
    "ToolCall": "tool-call",
    "ToolResult": "tool-result",
}
DELEGATION = OpenApiParameter(
    "X-User-Delegation",
    str,
    OpenApiParameter.HEADER,
    description="Token of the person in whose name the agent acts.",
)
_ONLY_IN_FILES = ("$schema", "$id")
_ENVELOPES = "/api/v1/tool-calls"


def body_of(name: str) -> dict[str, Any]:
    """`extend_schema(request=...)` for a body that `checked_body` checks."""
    return {"application/json": _inlined(body_schema(name))}


def component(name: str) -> dict[str, str]:
    """`extend_schema(responses=...)` for a published schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def both_envelopes() -> dict[str, Any]:
    """What reading a call answers."""
    return {
        "type": "object",
        "required": ["call", "result"],
        "additionalProperties": False,
        "properties": {"call": component("ToolCall"), "result": component("ToolResult")},
    }


def add_envelopes(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Postprocessing hook: the components, and refusals of tool calls in the callers' own shape."""
    components = result.setdefault("components", {}).setdefault("schemas", {})
    for name, file in _COMPONENTS.items():
        components[name] = _published(file, name)
    for path, operations in result.get("paths", {}).items():
        for method, operation in operations.items():
            _require_body(operation)
            if path.startswith(_ENVELOPES):
                _refuse_in_envelopes(operation["responses"], method)
    return result


def _require_body(operation: dict[str, Any]) -> None:
    """Where a body's schema asks for a member, the body can't be left out."""
    for form in operation.get("requestBody", {}).get("content", {}).values():
        if form.get("schema", {}).get("required"):
            operation["requestBody"]["required"] = True


def _refuse_in_envelopes(responses: dict[str, Any], method: str) -> None:
    content = {"application/json": {"schema": component("ToolResult")}}
    for status, said in refusals_of(method).items():
        responses.setdefault(status, {"description": said, "content": content})


def _published(file: str, name: str) -> dict[str, Any]:
    """The schema at its place among the components, its inner references turned there too."""
    text = published_schemas()[f"{file}.v1.schema.json"].content.decode()
    placed = text.replace('"#/$defs/', f'"#/components/schemas/{name}/$defs/')
    return _inlined(dict(strict_json.loads_object(placed.encode())))


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in _ONLY_IN_FILES}
