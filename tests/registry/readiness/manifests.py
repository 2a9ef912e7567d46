"""Manifests to lint: the shipped payments example, and ways to change it."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextos.core import strict_json
from contextos.core.json_pointer import join, split
from registry.readiness import Finding, lint_document

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "manifests"

READ = "/capabilities/0"  # payments.lookup_transaction
WRITE = "/capabilities/1"  # payments.issue_refund


class _Delete:
    def __repr__(self) -> str:
        return "DELETE"


DELETE = _Delete()
Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Cases:
    """Changes to the payments manifest: those a rule must name, and near misses it must not."""

    fires: tuple[Changes, ...]
    silent: tuple[Changes, ...]


def example(name: str) -> dict[str, Any]:
    """One of the shipped example manifests."""
    return strict_json.loads_object((EXAMPLES / f"{name}.json").read_bytes())


def changed(changes: Changes, base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A copy of the payments manifest (or another) with members set or deleted."""
    document = copy.deepcopy(dict(base if base is not None else example("payments")))
    for pointer, value in changes.items():
        *parents, last = split(pointer)
        owner: Any = document
        for token in parents:
            owner = owner[int(token)] if isinstance(owner, list) else owner.setdefault(token, {})
        key: Any = int(last) if isinstance(owner, list) else last
        if value is DELETE:
            owner.pop(key)
        elif isinstance(owner, list) and key == len(owner):
            owner.append(copy.deepcopy(value))
        else:
            owner[key] = copy.deepcopy(value)
    return document


def findings(document: Mapping[str, Any], rule: str | None = None) -> tuple[Finding, ...]:
    """The findings about a manifest, of one rule if named."""
    return tuple(
        item for item in lint_document(document).findings if rule is None or item.rule == rule
    )


def schema_at(capability: str, side: str) -> str:
    """Where the schema of a capability of the payments manifest stands."""
    return join(["schemas", f"schema://{capability}.{side}.v1"])


def write_input(schema: Any) -> dict[str, Any]:
    """Another input schema for the write."""
    return {schema_at("payments.issue_refund", "input"): schema}


def write_property(name: str, schema: Any) -> dict[str, Any]:
    """One more member in the input of the write."""
    return {schema_at("payments.issue_refund", "input") + f"/properties/{name}": schema}


def read_input(schema: Any) -> dict[str, Any]:
    """Another input schema for the read."""
    return {schema_at("payments.lookup_transaction", "input"): schema}


def read_output(schema: Any, keys: list[str]) -> dict[str, Any]:
    """Another output schema for the read, and evidence keys to go with it."""
    return {
        schema_at("payments.lookup_transaction", "output"): schema,
        f"{READ}/evidence_keys": keys,
    }


def named(capability_id: str, tool: str | None = None) -> dict[str, Any]:
    """Another name for the read, and for its tool."""
    changes = {f"{READ}/capability_id": capability_id}
    return changes | {f"{READ}/mcp_tool_name": tool or capability_id.replace(".", "_")}


def closed(**properties: Any) -> dict[str, Any]:
    """An object schema that takes these members and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties}
