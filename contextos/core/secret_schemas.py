"""Where a JSON Schema says that a value is secret."""

from collections.abc import Iterator, Mapping
from typing import Any

from contextos.core.json_pointer import join, split

_DEEPEST = 12
_MOST_STEPS = 8


def secret_pointers(schema: Any) -> Iterator[str]:
    """The places a schema marks as secret: `writeOnly`, `format: password`, `x-secret`.

    `*` as a token stands for any key or index.
    """
    for path in _secret_paths(schema, schema, (), _DEEPEST):
        yield join(path)


def _secret_paths(
    schema: Any, root: Any, path: tuple[str, ...], depth: int
) -> Iterator[tuple[str, ...]]:
    schema = _followed(schema, root)
    if not isinstance(schema, Mapping) or depth == 0:
        return
    if _is_secret(schema):
        yield path
        return
    for step, inner in _parts(schema):
        yield from _secret_paths(inner, root, (*path, *step), depth - 1)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What a schema is made of, with the step that leads there."""
    members = schema.get("properties")
    for name, inner in members.items() if isinstance(members, Mapping) else ():
        yield (str(name),), inner
    for name in ("items", "additionalProperties"):
        yield ("*",), schema.get(name)
    for inner in schema.get("prefixItems") or ():
        yield ("*",), inner
    for name in ("allOf", "anyOf", "oneOf"):
        for inner in schema.get(name) or ():
            yield (), inner
    for name in ("if", "then", "else"):
        yield (), schema.get(name)


def _followed(schema: Any, root: Any) -> Any:
    """Where a chain of `$ref` within the same document leads."""
    for _ in range(_MOST_STEPS):
        ref = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(ref, str) or not ref.startswith("#/") or _is_secret(schema):
            return schema
        schema = _at(root, ref[1:])
    return schema


def _at(root: Any, pointer: str) -> Any:
    found = root
    for token in split(pointer):
        found = found.get(token) if isinstance(found, Mapping) else None
    return found


def _is_secret(schema: Mapping[str, Any]) -> bool:
    return (
        schema.get("writeOnly") is True
        or schema.get("x-secret") is True
        or schema.get("format") == "password"
    )
