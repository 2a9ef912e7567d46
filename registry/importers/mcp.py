"""What an MCP server says of itself becomes a draft manifest (B5).

Seeing a tool gives nobody the right to call it. What people decided about a tool that was known
before is kept; a new tool gets the most careful reading there is, whatever it says of itself: it
acts, it destroys, it needs a key. A reviewer lowers that, and lint names what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_NAME = 60
_UNSAFE = re.compile(r"[^a-z0-9]+")
_ADAPTER = re.compile(r"^adp_|_mcp$")
_SCHEMA_SIDES = (("inputSchema", "input"), ("outputSchema", "output"))
_OWN_TO_A_VERSION = ("version", "rollout_notes", "rollback_notes", "migration_notes")
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """A live server in its own words, as plain JSON of the protocol."""

    protocol_version: str
    server: Document
    server_capabilities: Document
    tools: Sequence[Document] = ()
    resources: Sequence[Document] = ()
    resource_templates: Sequence[Document] = ()
    prompts: Sequence[Document] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """The draft, and what is different from the manifest it began with."""

    manifest: dict[str, Any]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]


def draft_from(found: Discovered, *, base: Document) -> Drafted:
    """The manifest that `base` becomes when it tells the truth about the live server."""
    known = _by_tool(base.get("capabilities") or [])
    schemas = dict(base.get("schemas") or {})
    domain = _domain(str(base.get("adapter_id", "")))
    names = {str(item.get("capability_id")) for items in known.values() for item in items}
    capabilities: list[dict[str, Any]] = []
    added, changed = [], []
    for tool in found.tools:
        before = known.get(tool["name"], [])
        items = [_kept(item, tool) for item in before] or [_careful(tool, domain, names)]
        if not before:
            added.append(tool["name"])
            names.add(items[0]["capability_id"])
        elif any(_pinned(item, tool, schemas) for item in before):
            changed.append(tool["name"])
        for item in items:
            _place_schemas(item, tool, schemas)
        capabilities += items
    offered = {tool["name"] for tool in found.tools}
    gone = tuple(sorted(str(name) for name in known if name not in offered))
    manifest = {name: value for name, value in base.items() if name not in _OWN_TO_A_VERSION}
    manifest |= {
        "protocol": "mcp",
        "protocol_version": found.protocol_version,
        "server_capabilities": dict(found.server_capabilities),
        "capabilities": capabilities,
        "schemas": _used(schemas, capabilities, base),
        "resources": _resources(found.resources, base),
        "resource_templates": _templates(found.resource_templates, base),
        "prompts": _prompts(found.prompts, base),
    }
    return Drafted(manifest=manifest, added=tuple(added), changed=tuple(changed), gone=gone)


# --- tools ---------------------------------------------------------------------------------------
def _by_tool(capabilities: Iterable[Document]) -> dict[Any, list[Document]]:
    """A tool may serve several capabilities, each with its own class, mode and bounds."""
    found: dict[Any, list[Document]] = {}
    for item in capabilities:
        found.setdefault(item.get("mcp_tool_name"), []).append(item)
    return found


def _kept(before: Document, tool: Document) -> dict[str, Any]:
    """What people decided stays; what the server says of the tool is taken as it says it now."""
    icons = _icons(tool) or before.get("icons") or []
    return {**before, "description": tool.get("description") or "", "icons": icons}


def _careful(tool: Document, domain: str, taken: set[str]) -> dict[str, Any]:
    """Annotations such as readOnlyHint are the server's own word and lower nothing."""
    return {
        "capability_id": _capability_id(tool["name"], domain, taken),
        "mcp_tool_name": tool["name"],
        "description": tool.get("description") or "",
        "capability_class": "act",
        "approval_mode": "destructive",
        "idempotency": {"required": True},
        "icons": _icons(tool),
    }


def _icons(tool: Document) -> list[Any]:
    return [dict(icon) for icon in tool.get("icons") or []]


def _capability_id(tool: str, domain: str, taken: set[str]) -> str:
    """`payments_issue_refund` of adp_payments_mcp is payments.issue_refund; never a taken id."""
    plain = _snake(tool)
    plain = plain.removeprefix(f"{domain}_") or plain
    wanted = name = f"{domain}.{plain}"
    number = 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _domain(adapter_id: str) -> str:
    return _snake(_ADAPTER.sub("", adapter_id)) or "server"


def _snake(text: str) -> str:
    plain = _UNSAFE.sub("_", text.lower()).strip("_")[:LONGEST_NAME]
    return plain if plain[:1].isalpha() else f"t_{plain}".rstrip("_")


# --- schemas -------------------------------------------------------------------------------------
def _pinned(before: Document, tool: Document, schemas: Document) -> bool:
    """Whether the live tool differs from what was pinned for it."""
    same_words = (tool.get("description") or "") == (before.get("description") or "")
    return not same_words or any(
        tool.get(live) != schemas.get(str(before.get(f"{side}_schema_ref")))
        for live, side in _SCHEMA_SIDES
    )


def _place_schemas(item: dict[str, Any], tool: Document, schemas: dict[str, Any]) -> None:
    """Point at the pinned schema while it is still true, else at the live one, inline."""
    for live, side in _SCHEMA_SIDES:
        ref = f"{side}_schema_ref"
        schema = tool.get(live)
        if schema is None:
            item.pop(ref, None)
        elif schemas.get(str(item.get(ref))) != schema:
            item.pop(ref, None)
            item[f"{side}_schema"] = schema


def _used(schemas: Document, capabilities: Iterable[Document], base: Document) -> dict[str, Any]:
    """Schemas that only tools pointed at go with them; those of other parts stay."""
    sides = ("input_schema_ref", "output_schema_ref")
    before = {item.get(side) for item in base.get("capabilities") or [] for side in sides}
    now = {item.get(side) for item in capabilities for side in sides}
    return {uri: schema for uri, schema in schemas.items() if uri in now or uri not in before}


# --- resources and prompts -----------------------------------------------------------------------
def _resources(found: Sequence[Document], base: Document) -> list[dict[str, Any]]:
    known = {item.get("uri"): item for item in base.get("resources") or []}
    return [
        {
            "classification": "RESTRICTED",
            "access": {"roles": [], "intents": []},
            **known.get(item["uri"], {}),
            **_named(item, "uri"),
            **({"size_bytes": item["size"]} if isinstance(item.get("size"), int) else {}),
        }
        for item in found
    ]


def _templates(found: Sequence[Document], base: Document) -> list[dict[str, Any]]:
    known = {item.get("uri_template"): item for item in base.get("resource_templates") or []}
    return [
        {
            "classification": "RESTRICTED",
            "access": {"roles": [], "intents": []},
            "parameter_constraints": {},
            **known.get(item["uriTemplate"], {}),
            "uri_template": item["uriTemplate"],
            **_named(item),
        }
        for item in found
    ]


def _prompts(found: Sequence[Document], base: Document) -> list[dict[str, Any]]:
    known = {item.get("name"): item for item in base.get("prompts") or []}
    return [
        {
            "version": "0.1.0",
            **known.get(item["name"], {}),
            "name": item["name"],
            "description": item.get("description") or "",
            **({"arguments": list(item["arguments"])} if item.get("arguments") else {}),
        }
        for item in found
    ]


def _named(item: Document, *more: str) -> dict[str, Any]:
    return {name: item[name] for name in ("name", "mimeType", *more) if item.get(name)}
