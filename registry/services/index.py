"""Writes the rows that index a normalised manifest; only a draft's rows are ever rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contextos.core.canonical import canonicalise, digest
from contextos.core.errors import coded_error
from contextos.core.json_pointer import join
from contextos.core.modes import ApprovalMode
from registry.manifest.normalise import binding_name
from registry.models import (
    AdapterVersion,
    Capability,
    Prompt,
    Resource,
    SchemaDocument,
    SchemaUse,
    Scope,
)
from registry.validation import DEFAULT_DIALECT, DIALECTS

_RANKS = {mode.value: mode.rank for mode in ApprovalMode}


def rewrite_index(version: AdapterVersion, manifest: Mapping[str, Any]) -> None:
    """Replace the rows of a draft by those of its manifest."""
    for rows in (
        version.capabilities,
        version.scopes,
        version.resources,
        version.prompts,
        version.schemas,
    ):
        rows.all().delete()
    Capability.objects.bulk_create(_capabilities(version, manifest))
    Scope.objects.bulk_create(_scopes(version, manifest))
    Resource.objects.bulk_create(_resources(version, manifest))
    Prompt.objects.bulk_create(_prompts(version, manifest))
    _store_schemas(version, manifest)


def highest_mode(manifest: Mapping[str, Any]) -> str:
    """The riskiest mode any capability declares; empty when none declares a known one."""
    known = [
        c["approval_mode"]
        for _, c in _items(manifest, "capabilities")
        if c.get("approval_mode") in _RANKS
    ]
    return max(known, key=_RANKS.__getitem__, default="")


def capability_count(manifest: Mapping[str, Any]) -> int:
    """How many capabilities a manifest declares."""
    return sum(1 for _ in _items(manifest, "capabilities"))


def _items(manifest: Mapping[str, Any], member: str) -> Iterator[tuple[str, dict[str, Any]]]:
    listed = manifest.get(member)
    for position, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield join([member, position]), item


def _text(owner: Mapping[str, Any], name: str, limit: int) -> str:
    value = owner.get(name)
    return value[:limit] if isinstance(value, str) else ""


def _name(owner: Mapping[str, Any], member: str, limit: int, pointer: str) -> str:
    """A member that rows are found by: cut short it would be another name, so it is refused."""
    return _whole(_text(owner, member, limit + 1), limit, f"{pointer}/{member}")


def _whole(text: str, limit: int, pointer: str) -> str:
    if len(text) > limit:
        raise coded_error("manifest.text_too_long", data={"pointer": pointer, "limit": limit})
    return text


def _list(owner: Mapping[str, Any], name: str) -> list[Any]:
    value = owner.get(name)
    return value if isinstance(value, list) else []


def _texts(owner: Mapping[str, Any], name: str) -> list[str]:
    return [item for item in _list(owner, name) if isinstance(item, str)]


def _object(owner: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = owner.get(name)
    return value if isinstance(value, dict) else {}


def _capabilities(version: AdapterVersion, manifest: Mapping[str, Any]) -> Iterator[Capability]:
    seen: set[str] = set()
    binding = binding_name(_text(manifest, "protocol", 16))
    for pointer, item in _items(manifest, "capabilities"):
        name = _name(item, "capability_id", 200, pointer)
        if not name or name in seen:  # the linter points at both; an index row needs a name
            continue
        seen.add(name)
        mode = _text(item, "approval_mode", 16)
        yield Capability(
            version=version,
            tenant_id=version.tenant_id,
            environment=version.environment,
            capability_id=name,
            capability_class=_text(item, "capability_class", 16),
            approval_mode=mode,
            mode_rank=_RANKS.get(mode, len(_RANKS)),
            description=_text(item, "description", 10_000),
            owner_role=_text(item, "owner_role", 100) or _text(manifest, "owner_role", 100),
            domain=_text(item, "domain", 100),
            intents=_texts(item, "intents"),
            required_claims=_list(item, "required_claims"),
            gate=_name(item, "requires_approval_gate", 100, pointer),
            requires_idempotency_key=_object(item, "idempotency").get("required") is True,
            binding=_text(item, binding, 200),
            pointer=pointer,
        )


def _scopes(version: AdapterVersion, manifest: Mapping[str, Any]) -> Iterator[Scope]:
    auth = _object(manifest, "auth")
    for name in _scope_names(auth.get("initial_scopes"), "/auth/initial_scopes"):
        yield Scope(version=version, kind=Scope.Kind.INITIAL, name=name)
    for capability_id, names in sorted(_object(auth, "step_up_scopes").items()):
        pointer = join(["auth", "step_up_scopes", capability_id])
        _whole(capability_id, 200, pointer)
        for name in _scope_names(names, pointer):
            yield Scope(
                version=version, kind=Scope.Kind.STEP_UP, name=name, capability_id=capability_id
            )


def _scope_names(value: Any, pointer: str) -> Iterable[str]:
    listed = value if isinstance(value, list) else []
    return sorted({_whole(item, 300, pointer) for item in listed if isinstance(item, str) and item})


def _resources(version: AdapterVersion, manifest: Mapping[str, Any]) -> Iterator[Resource]:
    for member, key in (("resources", "uri"), ("resource_templates", "uri_template")):
        for pointer, item in _items(manifest, member):
            size = item.get("size_bytes")
            yield Resource(
                version=version,
                uri=_name(item, key, 500, pointer),
                is_template=member == "resource_templates",
                name=_text(item, "name", 200),
                mime_type=_text(item, "mimeType", 100),
                size_bytes=size if type(size) is int and 0 <= size < 2**63 else None,
                classification=_text(item, "classification", 16),
                source=_text(item, "source", 200),
                freshness=_object(item, "freshness"),
                access=_object(item, "access"),
                evidence_ref=_text(item, "evidence_ref", 200),
                parameter_constraints=_object(item, "parameter_constraints"),
                pointer=pointer,
            )


def _prompts(version: AdapterVersion, manifest: Mapping[str, Any]) -> Iterator[Prompt]:
    for pointer, item in _items(manifest, "prompts"):
        yield Prompt(
            version=version,
            name=_name(item, "name", 200, pointer),
            title=_text(item, "title", 200),
            description=_text(item, "description", 10_000),
            prompt_version=_text(item, "version", 64),
            arguments=_list(item, "arguments"),
            golden_set_ref=_text(item, "evaluation_set_ref", 300),
            pointer=pointer,
        )


def _store_schemas(version: AdapterVersion, manifest: Mapping[str, Any]) -> None:
    schemas = {
        _whole(ref, 300, join(["schemas", ref])): schema
        for ref, schema in _object(manifest, "schemas").items()
        if isinstance(schema, dict | bool)
    }
    digests = {ref: digest(schema) for ref, schema in schemas.items()}
    by_digest = {digests[ref]: schema for ref, schema in schemas.items()}
    missing = by_digest.keys() - _stored(version.tenant_id, by_digest)
    SchemaDocument.objects.bulk_create(
        [_schema_document(version.tenant_id, key, by_digest[key]) for key in sorted(missing)],
        ignore_conflicts=True,  # two drafts may bring the same schema at the same moment
    )
    rows = _stored(version.tenant_id, by_digest)
    SchemaUse.objects.bulk_create(
        SchemaUse(version=version, ref=ref, document_id=rows[digests[ref]]) for ref in schemas
    )


def _stored(tenant_id: str, digests: Iterable[str]) -> dict[str, int]:
    rows = SchemaDocument.objects.filter(tenant_id=tenant_id, digest__in=list(digests))
    return dict(rows.values_list("digest", "pk"))


def _schema_document(tenant_id: str, key: str, schema: Any) -> SchemaDocument:
    return SchemaDocument(
        tenant_id=tenant_id,
        digest=key,
        dialect=_dialect(schema),
        text=canonicalise(schema).decode("utf-8"),
    )


def _dialect(schema: Any) -> str:
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(declared, str):
        return declared[:200]
    return DIALECTS[DEFAULT_DIALECT].uri
