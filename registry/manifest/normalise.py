"""Brings a manifest, draft spellings included, into the one form that rules and diffs read.

Pure, deterministic and idempotent. Members of the wrong type are left as they are: saying so is the
linter's work. Parts that need no change are shared with the input, which is never changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextos.core.json_pointer import unescape
from registry.manifest.access import text
from registry.manifest.origins import Origins, member
from registry.schema_tree import walk

SCHEMA_SCHEME = "schema://"
DEFAULT_ENVIRONMENT = "production"

# What a server says it offers; the short form of a draft names these instead of capabilities.
FEATURE_NAMES = frozenset(
    {
        "completions",
        "elicitation",
        "experimental",
        "logging",
        "prompts",
        "resources",
        "roots",
        "sampling",
        "tasks",
        "tools",
    }
)

BINDING_BY_PROTOCOL: Mapping[str, str] = {
    "mcp": "mcp_tool_name",
    "openapi": "openapi_operation_id",
    "a2a": "a2a_skill_id",
    "function": "function_name",
}
FALLBACK_BINDING = "mcp_tool_name"

_OTHER_SCHEMES = ("urn:", "file:", "data:")
_DECISION_PREFIX = "decision."


@dataclass(frozen=True, slots=True)
class Normalised:
    """The normalised document, and where its parts came from."""

    document: dict[str, Any]
    origins: Origins


def normalise(document: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with every draft spelling resolved and every default written out."""
    return normalise_with_origins(document).document


def normalise_with_origins(document: Mapping[str, Any]) -> Normalised:
    """As `normalise`, and able to say where each part stood in the author's document."""
    result, origins = dict(document), Origins()
    _fill(result, _top_defaults())
    _normalise_transport(result, origins)
    _normalise_sampling(result)
    _name_schemas(result, origins)
    _separate_features(result, origins)
    _normalise_capabilities(result, origins)
    _resolve_relative_refs(result)
    _normalise_auth(result, origins)
    return Normalised(result, origins)


def binding_name(protocol: str) -> str:
    """The member that binds a capability to its tool under this protocol."""
    return BINDING_BY_PROTOCOL.get(protocol, FALLBACK_BINDING)


def decision_key(name: str) -> str:
    """A decision's key as it is kept and compared: `decision.` at its head says nothing."""
    while name.startswith(_DECISION_PREFIX) and name != _DECISION_PREFIX:
        name = name.removeprefix(_DECISION_PREFIX)
    return name


def schema_uri(ref: str) -> str:
    """A schema reference as a `schema://` key; one that names another scheme stays as it is."""
    if ref.startswith("#/schemas/") and "/" not in ref.removeprefix("#/schemas/"):
        ref = unescape(ref.removeprefix("#/schemas/"))
    if not ref.strip() or "://" in ref or ref.startswith(("#", *_OTHER_SCHEMES)):
        return ref
    return f"{SCHEMA_SCHEME}{ref}"


# -- defaults ------------------------------------------------------------------------------------


def _top_defaults() -> dict[str, Any]:
    return {
        "environment": DEFAULT_ENVIRONMENT,
        "schemas": {},
        "resources": [],
        "resource_templates": [],
        "prompts": [],
        "roots": [],
        "elicitation": [],
    }


def _capability_defaults() -> dict[str, Any]:
    return {
        "requires_approval_gate": None,
        "decision_bindings": [],
        "policy_refs": [],
        "intents": [],
        "required_claims": [],
        "tenants": [],
        "arg_constraints": {},
        "evidence_keys": [],
        "idempotency": {"required": False},
        "retry_policy": {
            "max_attempts": 1,
            "retryable_error_codes": [],
            "requires_same_idempotency_key": True,
        },
        "execution": {"mode": "call", "cancellable": False},
        "errors": [],
        "icons": [],
    }


def _auth_defaults() -> dict[str, Any]:
    return {"initial_scopes": [], "step_up_scopes": {}, "allow_token_passthrough": False}


def _fill(owner: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    """Write out defaults; a member that is null counts as absent, one level of objects deep."""
    for name, default in defaults.items():
        given = owner.get(name)
        if given is None:
            owner[name] = default
        elif isinstance(given, dict) and isinstance(default, dict) and default:
            owner[name] = {**default, **{k: v for k, v in given.items() if v is not None}}


# -- the parts of the document -------------------------------------------------------------------


def _normalise_transport(document: dict[str, Any], origins: Origins) -> None:
    transport = document.get("transport")
    if isinstance(transport, str):
        document["transport"] = {"kind": transport}
        origins.moved(to="/transport/kind", source="/transport")


def _normalise_sampling(document: dict[str, Any]) -> None:
    """Whoever says anything about sampling has declared it, unless they say they have not."""
    sampling = document.get("sampling")
    if sampling is None:
        document["sampling"] = {"declared": False}
    elif isinstance(sampling, dict) and sampling.get("declared") is None:
        document["sampling"] = {**sampling, "declared": bool(sampling)}


def _name_schemas(document: dict[str, Any], origins: Origins) -> None:
    schemas = document["schemas"]
    if not isinstance(schemas, dict):
        return
    named: dict[str, Any] = {}
    for key, schema in schemas.items():
        uri = schema_uri(key)
        if uri != key and uri in schemas:
            uri = key  # two documents claim one name: left for the linter to point at
        named[uri] = schema
        origins.moved(to=member("/schemas", uri), source=member("/schemas", key))
    document["schemas"] = named


def _separate_features(document: dict[str, Any], origins: Origins) -> None:
    """Move feature names out of the capability list, into what the server declares."""
    listed = document.get("capabilities")
    if not isinstance(listed, list):
        return
    kept: list[Any] = []
    features: dict[str, Any] = {}
    for index, item in enumerate(listed):
        source = member("/capabilities", index)
        if isinstance(item, str) and item in FEATURE_NAMES:
            features.setdefault(item, {})
            origins.moved(to=member("/server_capabilities", item), source=source)
        else:
            origins.moved(to=member("/capabilities", len(kept)), source=source)
            kept.append(item)
    document["capabilities"] = kept
    declared = document.get("server_capabilities")
    if features and isinstance(declared, dict | None):
        document["server_capabilities"] = {**features, **(declared or {})}


def _normalise_capabilities(document: dict[str, Any], origins: Origins) -> None:
    listed = document.get("capabilities")
    if not isinstance(listed, list):
        return
    binding = binding_name(text(document, "protocol"))
    for index, item in enumerate(listed):
        if isinstance(item, dict):
            capability = dict(item)
            pointer = member("/capabilities", index)
            _bind(capability, binding, pointer, origins)
            _collect_decisions(capability, pointer, origins)
            for side in ("input", "output"):
                _move_schema(document, capability, side, pointer, origins)
            _fill(capability, _capability_defaults())
            listed[index] = capability


def _bind(capability: dict[str, Any], binding: str, pointer: str, origins: Origins) -> None:
    tool = capability.get("protocol_tool")
    if not isinstance(tool, str) or capability.get(binding) not in (None, tool):
        return
    del capability["protocol_tool"]
    if capability.get(binding) is None:
        capability[binding] = tool
        source = origins.source_of(pointer)
        origins.moved(to=member(pointer, binding), source=member(source, "protocol_tool"))


def _collect_decisions(capability: dict[str, Any], pointer: str, origins: Origins) -> None:
    bindings = capability.get("decision_bindings")
    if not isinstance(bindings, list | None):
        return
    collected = [_bare_key(item) for item in bindings or []]
    lone = _bare_key(capability.get("decision_binding"))
    if isinstance(lone, str):
        del capability["decision_binding"]
        if lone not in collected:
            place = member(pointer, "decision_bindings", len(collected))
            source = member(origins.source_of(pointer), "decision_binding")
            origins.moved(to=place, source=source)
            collected.append(lone)
    capability["decision_bindings"] = collected


def _bare_key(value: Any) -> Any:
    return decision_key(value) if isinstance(value, str) else value


def _move_schema(
    document: dict[str, Any], capability: dict[str, Any], side: str, pointer: str, origins: Origins
) -> None:
    """Give an inline schema its `schema://` name, and a bare reference its scheme."""
    ref_name, inline_name = f"{side}_schema_ref", f"{side}_schema"
    ref = capability.get(ref_name)
    if isinstance(ref, str):
        capability[ref_name] = schema_uri(ref)
    if capability.get(inline_name) is None:
        capability.pop(inline_name, None)
        return
    schemas = document["schemas"]
    inline = capability[inline_name]
    uri = capability[ref_name] if text(capability, ref_name) else ""
    uri = uri or _free_uri(schemas, capability, side, inline)
    if not isinstance(schemas, dict) or schemas.get(uri, inline) != inline:
        return  # nowhere to put it, or it contradicts its own reference: the linter says so
    source = member(origins.source_of(pointer), inline_name)
    del capability[inline_name]
    if uri not in schemas:
        schemas[uri] = inline
        origins.moved(to=member("/schemas", uri), source=source)
    if not text(capability, ref_name):
        capability[ref_name] = uri
        origins.moved(to=member(pointer, ref_name), source=source)


def _free_uri(schemas: Any, capability: dict[str, Any], side: str, inline: Any) -> str:
    name = text(capability, "capability_id") or "unnamed"
    uri = wanted = f"{SCHEMA_SCHEME}{name}.{side}.v1"
    attempt = 1
    while isinstance(schemas, dict) and schemas.get(uri, inline) != inline:
        attempt += 1
        uri = f"{wanted}.{attempt}"
    return uri


def _resolve_relative_refs(document: dict[str, Any]) -> None:
    """Let a schema refer to its neighbours by bare name."""
    schemas = document["schemas"]
    if isinstance(schemas, dict):
        for uri, schema in schemas.items():
            if isinstance(schema, dict) and "$id" not in schema and _bare_refs(schema, schemas):
                schemas[uri] = _with_full_refs(schema, schemas)


def _bare_refs(schema: Any, schemas: Mapping[str, Any]) -> bool:
    return any(
        isinstance(node, dict) and _full_ref(node.get("$ref"), schemas) != node.get("$ref")
        for _, node in walk(schema)
    )


def _full_ref(ref: Any, schemas: Mapping[str, Any]) -> Any:
    if not isinstance(ref, str) or not ref or ref.startswith("#"):
        return ref
    name, mark, fragment = ref.partition("#")
    uri = schema_uri(name)
    return f"{uri}{mark}{fragment}" if uri != name and uri in schemas else ref


def _with_full_refs(schema: dict[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = _copy(schema)
    for _, node in walk(copied):
        if isinstance(node, dict) and "$ref" in node:
            node["$ref"] = _full_ref(node["$ref"], schemas)
    return copied


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def _normalise_auth(document: dict[str, Any], origins: Origins) -> None:
    if not isinstance(document.get("auth"), dict):
        return
    auth = dict(document["auth"])
    _fill(auth, _auth_defaults())
    document["auth"] = auth
    scopes = auth["step_up_scopes"]
    if isinstance(scopes, dict):
        auth["step_up_scopes"] = _scopes_by_exact_id(document, scopes, origins)


def _scopes_by_exact_id(
    document: dict[str, Any], scopes: dict[str, Any], origins: Origins
) -> dict[str, Any]:
    known = _capability_ids(document)
    place = "/auth/step_up_scopes"
    exact: dict[str, Any] = {}
    for key, value in scopes.items():
        name = _exact_capability_id(key, adapter_id=text(document, "adapter_id"), known=known)
        name = key if name != key and name in scopes else name
        exact[name] = value
        origins.moved(to=member(place, name), source=member(place, key))
    return exact


def _capability_ids(document: Mapping[str, Any]) -> tuple[str, ...]:
    listed = document.get("capabilities")
    items = listed if isinstance(listed, list) else ()
    return tuple(text(item, "capability_id") for item in items if isinstance(item, dict))


def _exact_capability_id(name: str, *, adapter_id: str, known: tuple[str, ...]) -> str:
    """`adp_payments.issue_refund` means this adapter's own `payments.issue_refund`."""
    prefix, _, operation = name.partition(".")
    names_us = prefix == adapter_id or (
        prefix.startswith("adp_") and adapter_id.startswith(f"{prefix}_")
    )
    if name in known or not names_us or not operation:
        return name
    matches = {known_id for known_id in known if known_id.partition(".")[2] == operation}
    return matches.pop() if len(matches) == 1 else name
