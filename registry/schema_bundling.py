"""Makes a schema complete in itself: the documents it refers to travel inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from registry.schema_refs import references


def bundled(schema: Any, documents: Mapping[str, Any]) -> Any:
    """The schema with every document it leads to under `$defs`, each by its own `$id`.

    References stay as they are: a reader finds their targets inside, as JSON Schema 2020-12 has it.
    """
    needed = _reachable(schema, documents)
    if not needed or not isinstance(schema, dict):
        return schema
    carried = {name: {"$id": name, **_object(documents[name])} for name in sorted(needed)}
    return {**schema, "$defs": {**_object(schema.get("$defs")), **carried}}


def _reachable(schema: Any, documents: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    pending = [schema]
    while pending:
        for _, ref in references(pending.pop()):
            name = ref.partition("#")[0]
            if name in documents and name not in found:
                found.add(name)
                pending.append(documents[name])
    return found


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
