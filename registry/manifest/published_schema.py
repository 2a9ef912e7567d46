"""The JSON Schema of the manifest, as it is served to the world."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from contextos.core import strict_json
from registry.manifest.origins import member
from registry.validation import Validator, compile_schema

SCHEMA_FILE = Path(__file__).resolve().parent.parent / "schemas/adapter-manifest.v1.schema.json"


@cache
def manifest_schema() -> Mapping[str, Any]:
    """The schema document."""
    return strict_json.loads_object(SCHEMA_FILE.read_bytes())


@cache
def manifest_validator() -> Validator:
    """The schema, compiled."""
    return compile_schema(manifest_schema(), imported=False)


def unknown_members(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pointer and name of every member that the schema does not know."""
    pending: list[tuple[str, Any, Mapping[str, Any]]] = [("", document, manifest_schema())]
    while pending:
        pointer, value, schema = pending.pop()
        schema = _followed(schema)
        if isinstance(value, list):
            items = schema.get("items", {})
            pending.extend((member(pointer, i), item, items) for i, item in enumerate(value))
        elif isinstance(value, dict):
            known = schema.get("properties", {})
            others = schema.get("additionalProperties")
            for name, item in value.items():
                inner = known.get(name, others)
                if isinstance(inner, dict):
                    pending.append((member(pointer, name), item, inner))
                elif inner is None and known:
                    yield member(pointer, name), name


def _followed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    ref = schema.get("$ref")
    if isinstance(ref, str):
        found: Mapping[str, Any] = manifest_schema()["$defs"][ref.removeprefix("#/$defs/")]
        return found
    return schema
