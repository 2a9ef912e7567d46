"""Where the subschemas of a JSON Schema stand; everything else in it is data, not schema."""

from collections.abc import Iterator
from typing import Any

from contextos.core.json_pointer import escape

_ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MANY = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED = frozenset(
    {
        "$defs",
        "definitions",
        "dependencies",
        "dependentSchemas",
        "patternProperties",
        "properties",
    }
)

Subschema = tuple[str, Any]


def children(schema: Any, pointer: str = "") -> Iterator[Subschema]:
    """The direct subschemas of a schema with their pointers, in document order."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        place = f"{pointer}/{keyword}"
        if isinstance(value, dict | bool) and keyword in _ONE:
            yield place, value
        elif isinstance(value, list) and keyword in _MANY:
            yield from _schemas_in((f"{place}/{i}", item) for i, item in enumerate(value))
        elif isinstance(value, dict) and keyword in _NAMED:
            yield from _schemas_in((f"{place}/{escape(name)}", s) for name, s in value.items())


def walk(schema: Any, pointer: str = "") -> Iterator[Subschema]:
    """The schema itself and every subschema below it, however deep."""
    pending: list[Subschema] = [(pointer, schema)]
    while pending:
        place, node = pending.pop()
        yield place, node
        pending.extend(reversed(list(children(node, place))))


def _schemas_in(found: Iterator[Subschema]) -> Iterator[Subschema]:
    return ((place, node) for place, node in found if isinstance(node, dict | bool))
