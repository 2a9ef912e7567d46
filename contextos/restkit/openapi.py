"""What drf-spectacular can't see by itself: that every operation may answer with a problem."""

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
_DEFAULT_RESPONSE = {
    "description": "Refused or failed",
    "content": {PROBLEM_CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_OPERATIONS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


def add_problem_details(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Postprocessing hook: each operation may answer with a Problem."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    for path in result.get("paths", {}).values():
        for method, operation in path.items():
            if method in _OPERATIONS:
                operation.setdefault("responses", {}).setdefault("default", _DEFAULT_RESPONSE)
    return result
