"""Finds the `$ref`s of a schema that lead nowhere, without ever fetching anything."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema_specifications import (  # type: ignore[import-untyped]
    REGISTRY as META_SCHEMAS,
)
from referencing import Registry, Specification
from referencing.exceptions import Unresolvable

from registry.schema_tree import children, walk

_REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")
# What the resolver raises over a target that is no schema at all.
_BROKEN_TARGET = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


def references(schema: Any) -> Iterator[tuple[str, str]]:
    """Pointer and text of every reference in a schema."""
    for pointer, node in walk(schema):
        yield from _references_of(pointer, node)


def refers_outside(schema: Any) -> bool:
    """Whether any part of a schema refers to another document."""
    return any(not ref.startswith("#") for _, ref in references(schema))


def dangling_references(
    schema: Any, documents: Mapping[str, Any], specification: Specification[Any]
) -> Iterator[tuple[str, str]]:
    """Pointer and text of every reference that neither the schema nor the documents answer."""
    if next(references(schema), None) is None:
        return  # spares most schemas the work of building a registry
    registry: Registry[Any] = META_SCHEMAS.with_contents(
        documents.items(), default_specification=specification
    )
    root = registry.resolver_with_root(specification.create_resource(schema))
    pending: list[tuple[str, Any, Any]] = [("", schema, root)]
    while pending:
        pointer, node, resolver = pending.pop()
        for place, ref in _references_of(pointer, node):
            if not _resolves(resolver, ref):
                yield place, ref
        for place, child in children(node, pointer):
            pending.append((place, child, _inside(child, resolver, specification)))


def _references_of(pointer: str, node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for keyword in _REFERRING:
            if isinstance(node.get(keyword), str):
                yield f"{pointer}/{keyword}", node[keyword]


def _inside(node: Any, resolver: Any, specification: Specification[Any]) -> Any:
    """A subschema with its own `$id` changes what its relative references are relative to."""
    if not isinstance(node, dict) or not isinstance(node.get("$id"), str):
        return resolver
    try:
        return resolver.in_subresource(specification.create_resource(node))
    except _BROKEN_TARGET:
        return resolver


def _resolves(resolver: Any, ref: str) -> bool:
    try:
        found = resolver.lookup(ref).contents
    except (Unresolvable, *_BROKEN_TARGET):
        return False
    return isinstance(found, dict | bool)
