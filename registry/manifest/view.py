"""Typed, read-only views of a normalised manifest; whatever is malformed reads as absent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from contextos.core.modes import ApprovalMode, CapabilityClass, is_write_class
from registry.manifest.access import JSONObject, mapping, objects, text
from registry.manifest.normalise import (
    FALLBACK_BINDING,
    binding_name,
    normalise_with_origins,
)
from registry.manifest.origins import Origins, member
from registry.validation import Problem, SchemaDocuments, check_schema

# Here an adapter may speak plain http to a private address.
RELAXED_ENVIRONMENTS = frozenset({"development", "workstation"})


@dataclass(frozen=True)
class Capability:
    """One operation the adapter offers."""

    index: int
    raw: JSONObject
    protocol: str

    @property
    def pointer(self) -> str:
        """Where the capability stands in the normalised document."""
        return member("/capabilities", self.index)

    def at(self, *names: str | int) -> str:
        """Where a member of the capability stands, or would stand."""
        return member(self.pointer, *names)

    @property
    def capability_id(self) -> str:
        return text(self.raw, "capability_id")

    @property
    def tool_name(self) -> str:
        """The tool behind the capability: the protocol's own binding, else the MCP one."""
        own = text(self.raw, binding_name(self.protocol))
        return own or text(self.raw, FALLBACK_BINDING)

    @property
    def tool_pointer(self) -> str:
        """Where the tool name stands, or would stand."""
        own = binding_name(self.protocol)
        return self.at(own if text(self.raw, own) else FALLBACK_BINDING)

    @cached_property
    def capability_class(self) -> CapabilityClass | None:
        try:
            return CapabilityClass(text(self.raw, "capability_class"))
        except ValueError:
            return None

    @cached_property
    def approval_mode(self) -> ApprovalMode | None:
        try:
            return ApprovalMode(text(self.raw, "approval_mode"))
        except ValueError:
            return None

    @property
    def is_write(self) -> bool:
        """Whether a call can change something; a missing half can't make a write harmless."""
        known_class = self.capability_class or CapabilityClass.OBSERVE
        return is_write_class(known_class, self.approval_mode or ApprovalMode.READ_ONLY)

    def schema_ref(self, side: str) -> str:
        """The `schema://` name of the input or output schema, or nothing."""
        return text(self.raw, f"{side}_schema_ref")


@dataclass(frozen=True, eq=False)
class Manifest:
    """A manifest as its author wrote it (`source`) and as the rules read it (`document`)."""

    source: Mapping[str, Any]
    document: Mapping[str, Any]
    origins: Origins = field(repr=False)

    @property
    def adapter_id(self) -> str:
        return text(self.document, "adapter_id")

    @property
    def owner_role(self) -> str:
        return text(self.document, "owner_role")

    @property
    def environment(self) -> str:
        return text(self.document, "environment")

    @property
    def is_relaxed(self) -> bool:
        """Whether plain http and private hosts are allowed where this manifest applies."""
        return self.environment in RELAXED_ENVIRONMENTS

    @property
    def protocol(self) -> str:
        return text(self.document, "protocol")

    @property
    def transport(self) -> JSONObject:
        return mapping(self.document, "transport")

    @property
    def transport_kind(self) -> str:
        return text(self.transport, "kind")

    @property
    def auth(self) -> JSONObject:
        return mapping(self.document, "auth")

    @property
    def auth_type(self) -> str:
        return text(self.auth, "type")

    @cached_property
    def capabilities(self) -> tuple[Capability, ...]:
        return tuple(
            Capability(index, item, self.protocol)
            for index, item in objects(self.document, "capabilities")
        )

    def writes(self) -> Iterator[Capability]:
        """The capabilities that can change something."""
        return (capability for capability in self.capabilities if capability.is_write)

    @cached_property
    def schemas(self) -> SchemaDocuments:
        """The schemas by their `schema://` names."""
        return SchemaDocuments(mapping(self.document, "schemas"))

    def schema_documents(self) -> Iterator[tuple[str, Any]]:
        """Every JSON Schema in the manifest, with its pointer."""
        for uri, schema in self.schemas.items():
            yield member("/schemas", uri), schema
        for pointer, item in self.parts("elicitation"):
            if item.get("schema") is not None:
                yield member(pointer, "schema"), item["schema"]

    @cached_property
    def schema_problems(self) -> tuple[tuple[str, Problem], ...]:
        """What is wrong with the schemas, each problem with the pointer of its schema."""
        return tuple(
            (pointer, problem)
            for pointer, schema in self.schema_documents()
            for problem in check_schema(schema, documents=self.schemas)
        )

    def parts(self, name: str) -> Iterator[tuple[str, JSONObject]]:
        """The objects of a top-level list (resources, prompts ...) with their pointers."""
        for index, item in objects(self.document, name):
            yield member("", name, index), item


def view(document: Mapping[str, Any]) -> Manifest:
    """The typed view of a manifest document, normalised on the way."""
    normalised = normalise_with_origins(document)
    return Manifest(document, normalised.document, normalised.origins)
