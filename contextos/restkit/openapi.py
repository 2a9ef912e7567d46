"""What drf-spectacular can't see by itself: which statuses an operation refuses with, and how."""

from __future__ import annotations

from typing import Any

from contextos.core.errors import PROBLEM_CONTENT_TYPE, ErrorKind

_TEXT = {"type": "string"}
PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457 problem details; every `code` stands in the error catalogue.",
    "required": ["type", "title", "status", "detail", "code", "kind", "retryable", "remediation"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "instance": {"type": "string", "format": "uri-reference"},
        "code": _TEXT,
        "kind": {"type": "string", "enum": [kind.value for kind in ErrorKind]},
        "retryable": {"type": "boolean"},
        "remediation": _TEXT,
        "retry_after_ms": {"type": "integer", "minimum": 0},
        "trace_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "details": {"type": "object", "additionalProperties": True},
    },
}
# Every refusal by its status; whoever meets another one has met a fault of ours.
REFUSALS: dict[int, str] = {
    400: "The request can't be read",
    401: "No token, or none that counts",
    403: "Not allowed",
    404: "Nothing of the caller's has this name",
    406: "No such form of an answer",
    409: "Not in the state that this asks for",
    411: "The body does not say how long it is",
    413: "The body is too large",
    415: "The body is no JSON",
    422: "Some values are not acceptable",
    429: "Too much at once; see Retry-After",
    503: "Not now; see Retry-After",
}
_ONLY_WITH_A_BODY = frozenset({409, 411, 413, 415})
_CONTENT = {PROBLEM_CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_DEFAULT_RESPONSE = {"description": "Failed", "content": _CONTENT}
_OPERATIONS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


def refusals_of(method: str) -> dict[str, str]:
    """Status and meaning of every refusal that an operation may answer with."""
    reads = method in ("get", "head")
    return {
        str(status): said
        for status, said in REFUSALS.items()
        if not (reads and status in _ONLY_WITH_A_BODY)
    }


def add_problem_details(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Postprocessing hook: each operation may answer with a Problem."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    for name, schema in components["schemas"].items():
        _mend(schema, closed=name.endswith("Body"))
    for path in result.get("paths", {}).values():
        for method, operation in path.items():
            if method in _OPERATIONS:
                _add_refusals(operation.setdefault("responses", {}), method)
    return result


def _add_refusals(responses: dict[str, Any], method: str) -> None:
    for status, said in refusals_of(method).items():
        responses.setdefault(status, {"description": said, "content": _CONTENT})
    responses.setdefault("default", _DEFAULT_RESPONSE)


def _mend(schema: dict[str, Any], *, closed: bool) -> None:
    """Say that bodies are closed, and "anything or null" in a way that null fulfils only once."""
    if closed:
        schema["additionalProperties"] = False
    for member in schema.get("properties", {}).values():
        if isinstance(member, dict) and {} in member.get("oneOf", ()):
            del member["oneOf"]
