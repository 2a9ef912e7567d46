"""What signed versions declare, opened once, and what a tenant has published, by generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from contextos.core.canonical import canonicalise
from contextos.core.errors import coded_error
from contextos.core.modes import ApprovalMode, CapabilityClass, is_write_class
from contextos.review.states import VersionState
from registry.capability_names import operation_of
from registry.generation_cache import GenerationCache
from registry.models import AdapterVersion
from registry.opened_cache import OpenedCache, trusted_kids
from registry.schema_bundling import bundled
from registry.selectors import Stops, quarantines_of, signed_manifest, stops_of, versions_of
from registry.validation import SchemaDocuments, Validator, compile_schema

MAX_CACHED_SNAPSHOTS = 256
DEFAULT_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ShownSchema:
    """A schema complete in itself, and its canonical bytes."""

    document: Any
    text: bytes


@dataclass(frozen=True)
class ResolvedCapability:
    """Everything a call needs to know of a capability."""

    capability_id: str
    capability_class: CapabilityClass
    approval_mode: ApprovalMode
    adapter_id: str
    version_id: str
    version: str
    manifest_hash: str
    declaration: Mapping[str, Any]
    manifest: Mapping[str, Any]
    schemas: SchemaDocuments = field(default_factory=SchemaDocuments, repr=False)
    # Schemas as manifests show them, by name: all capabilities of a version share one dict.
    shown_schemas: dict[str, ShownSchema] = field(default_factory=dict, repr=False, compare=False)

    @property
    def input_schema(self) -> Any:
        """What the arguments have to look like; an object without any rule where none is said."""
        return self._schema("input")

    @property
    def output_schema(self) -> Any:
        """What the answer has to look like."""
        return self._schema("output")

    @cached_property
    def input_validator(self) -> Validator:
        """Compiled once for as long as the version is held."""
        return compile_schema(self.input_schema, documents=self.schemas)

    @cached_property
    def output_validator(self) -> Validator:
        """Compiled once for as long as the version is held."""
        return compile_schema(self.output_schema, documents=self.schemas)

    @cached_property
    def is_write(self) -> bool:
        """Whether it can change something."""
        return is_write_class(self.capability_class, self.approval_mode)

    @cached_property
    def timeout_seconds(self) -> float:
        """How long one attempt may take."""
        for owner in (self.declaration, self.manifest.get("transport") or {}):
            seconds = owner.get("timeout_seconds")
            if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
                return float(seconds)
        return DEFAULT_TIMEOUT_SECONDS

    @property
    def requires_idempotency_key(self) -> bool:
        """Whether a call needs a key: it can change something, or the manifest asks for one."""
        declared = self.declaration.get("idempotency")
        asked = isinstance(declared, dict) and declared.get("required") is True
        return asked or self.is_write

    @cached_property
    def entry(self) -> Mapping[str, Any]:
        """The capability as a run's tool manifest shows it."""
        return {
            **self._plain_members(),
            "input_schema": self._shown("input").document,
            "output_schema": self._shown("output").document,
        }

    @cached_property
    def entry_json(self) -> bytes:
        """The canonical bytes of the entry, from which manifests are put together.

        Composed member by member in the order of RFC 8785, because schemas are the bulk of it and
        many capabilities share theirs.
        """
        members = {name: orjson.dumps(value) for name, value in self._plain_members().items()}
        members["input_schema"] = self._shown("input").text
        members["output_schema"] = self._shown("output").text
        return (
            b"{" + b",".join(b'"%b":%b' % (n.encode(), members[n]) for n in sorted(members)) + b"}"
        )

    @cached_property
    def readable(self) -> Mapping[str, Any]:
        """The capability as rules read it: the manifest's own fields, and where it comes from."""
        return {
            **self.declaration,
            "adapter_id": self.adapter_id,
            "protocol": self.manifest.get("protocol"),
        }

    @cached_property
    def readable_json(self) -> bytes:
        """The canonical bytes of the same: the bulk of what an inputs_hash is taken over."""
        return canonicalise(self.readable)

    def _plain_members(self) -> dict[str, Any]:
        return {
            "capability_id": self.capability_id,
            "adapter_id": self.adapter_id,
            "capability_class": self.capability_class.value,
            "approval_mode": self.approval_mode.value,
            "description": self.declaration.get("description", ""),
            "requires_idempotency_key": self.requires_idempotency_key,
        }

    def _shown(self, side: str) -> ShownSchema:
        ref = str(self.declaration.get(f"{side}_schema_ref"))
        if ref not in self.shown_schemas:
            complete = bundled(self._schema(side), self.schemas)
            self.shown_schemas[ref] = ShownSchema(complete, canonicalise(complete))
        return self.shown_schemas[ref]

    def _schema(self, side: str) -> Any:
        ref = self.declaration.get(f"{side}_schema_ref")
        found = self.schemas.get(ref) if isinstance(ref, str) else None
        return {"type": "object"} if found is None else found


@dataclass(frozen=True)
class OpenedCapabilities:
    """What one signed version declares, and every spelling under which a permission may name it."""

    by_id: Mapping[str, ResolvedCapability]

    @cached_property
    def by_spelling(self) -> Mapping[str, tuple[str, ...]]:
        """Capability ids by their id and by their operation."""
        found: dict[str, tuple[str, ...]] = {}
        for name in self.by_id:
            for spelling in {name, operation_of(name)}:
                found[spelling] = (*found.get(spelling, ()), name)
        return found


@dataclass(frozen=True, slots=True)
class TenantSnapshot:
    """What one tenant has published and stopped in one environment, as of one generation."""

    generation: int
    published: tuple[AdapterVersion, ...] = ()
    stops: Stops = field(default_factory=lambda: Stops("", {}))
    quarantined: Mapping[tuple[str, str], str] = field(default_factory=dict)


class SnapshotCache:
    """Snapshots by tenant and environment; another generation than the held one builds anew."""

    def __init__(self) -> None:
        self.held: GenerationCache[tuple[str, str], TenantSnapshot] = GenerationCache(
            lambda key, generation: build_snapshot(*key, generation), limit=MAX_CACHED_SNAPSHOTS
        )

    def get(self, tenant_id: str, environment: str, generation: int) -> TenantSnapshot:
        """The snapshot of exactly this generation; one thread builds it, the others wait."""
        return self.held.get((tenant_id, environment), generation)


snapshots = SnapshotCache()


def build_snapshot(tenant_id: str, environment: str, generation: int) -> TenantSnapshot:
    """Read what is published and what is stopped, in three statements; nothing is opened yet."""
    rows = versions_of(tenant_id).filter(environment=environment, state=VersionState.PUBLISHED)
    return TenantSnapshot(generation, tuple(rows), stops_of(tenant_id), quarantines_of(tenant_id))


def open_capabilities(version: AdapterVersion, kids: frozenset[str]) -> OpenedCapabilities:
    """What a signed version declares for its tenant, from memory where it was read before."""
    return _opened.get(version, kids)


def capability_of_version(version_id: str, capability_id: str) -> ResolvedCapability:
    """For work already under way: what its version declared, whatever happened to it since."""
    version = AdapterVersion.objects.select_related("adapter").get(pk=version_id)
    return open_capabilities(version, trusted_kids()).by_id[capability_id]


def _open(version: AdapterVersion) -> OpenedCapabilities:
    origin = Origin(
        tenant_id=version.tenant_id,
        adapter_id=version.adapter.adapter_id,
        version_id=version.version_id,
        version=version.version,
        manifest_hash=version.digest,
    )
    return capabilities_in(signed_manifest(version), origin)


_opened: OpenedCache[AdapterVersion, OpenedCapabilities] = OpenedCache(_open)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Which version of which adapter a manifest is, and whose."""

    tenant_id: str
    adapter_id: str
    version_id: str
    version: str
    manifest_hash: str


def capabilities_in(manifest: dict[str, Any], origin: Origin) -> OpenedCapabilities:
    """What a manifest that was checked already declares for its tenant."""
    try:
        found = _resolved(manifest, origin)
    except (KeyError, TypeError, ValueError) as fault:
        # Signed, but by rules that let pass what can't be run; it must not stop the others.
        message = "The manifest does not say all that a call needs."
        raise coded_error("signature.invalid", message=message) from fault
    return OpenedCapabilities({item.capability_id: item for item in found})


def _resolved(manifest: dict[str, Any], origin: Origin) -> tuple[ResolvedCapability, ...]:
    schemas = SchemaDocuments(manifest.get("schemas") or {})
    shown: dict[str, ShownSchema] = {}
    return tuple(
        ResolvedCapability(
            capability_id=declaration["capability_id"],
            capability_class=CapabilityClass(declaration["capability_class"]),
            approval_mode=ApprovalMode(declaration["approval_mode"]),
            adapter_id=origin.adapter_id,
            version_id=origin.version_id,
            version=origin.version,
            manifest_hash=origin.manifest_hash,
            declaration=declaration,
            manifest=manifest,
            schemas=schemas,
            shown_schemas=shown,
        )
        for declaration in manifest["capabilities"]
        if not declaration.get("tenants") or origin.tenant_id in declaration["tenants"]
    )
