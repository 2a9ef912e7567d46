"""What a plan is checked against: permissions, capabilities, skills, aliases, mode policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from contextos.core.modes import ApprovalMode, CapabilityClass, is_write_class
from registry.capability_names import CapabilityName, CapabilityNames
from registry.manifest.normalise import decision_key
from registry.packs import (
    Permission,
    PermissionMatch,
    RunScope,
    match_permissions,
    read_permission,
)
from registry.plans.reading import list_at, object_at
from registry.policy.types import mode_named
from registry.skills import Skill, newest, read_skill
from registry.validation import Validator, compile_schema

_Item = TypeVar("_Item")

KEY = "idempotency_key"
_USABLE = frozenset({"active", "enabled", "published", "deprecated"})
_ONLY_ACT_HAS = frozenset(
    {ApprovalMode.LOCAL_WRITE, ApprovalMode.DELEGATED, ApprovalMode.DESTRUCTIVE}
)


@dataclass(frozen=True)
class PlanCapability:
    """A declared capability, read as far as a plan depends on it."""

    name: CapabilityName
    raw: Mapping[str, Any]
    schemas: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capability_id(self) -> str:
        return self.name.capability_id

    @cached_property
    def mode(self) -> ApprovalMode | None:
        """The declared maximum."""
        return mode_named(self.raw.get("approval_mode"))

    @cached_property
    def capability_class(self) -> CapabilityClass | None:
        """As declared; where it is not, a mode that only `act` can have gives it away."""
        try:
            return CapabilityClass(str(self.raw.get("capability_class")))
        except ValueError:
            return CapabilityClass.ACT if self.mode in _ONLY_ACT_HAS else None

    @property
    def is_write_class(self) -> bool:
        if self.mode is None or self.capability_class is None:
            return self.capability_class is CapabilityClass.ACT
        return is_write_class(self.capability_class, self.mode)

    @property
    def needs_key(self) -> bool:
        idempotency = self.raw.get("idempotency")
        asked = isinstance(idempotency, dict) and idempotency.get("required") is True
        return asked or self.is_write_class

    @property
    def state(self) -> str:
        """`usable`, `quarantined` or `disabled`; a state nobody knows is no permission."""
        value = self.raw.get("state")
        if value is None or (isinstance(value, str) and value in _USABLE):
            return "usable"
        return "quarantined" if value == "quarantined" else "disabled"

    @cached_property
    def input_schema(self) -> Any:
        inline = self.raw.get("input_schema")
        ref = self.raw.get("input_schema_ref")
        return self.schemas.get(ref) if inline is None and isinstance(ref, str) else inline

    @cached_property
    def validator(self) -> Validator | None:
        """The compiled input schema; None where there is none. Raises `schema.invalid`."""
        if self.input_schema is None:
            return None
        return compile_schema(self.input_schema, documents=self.schemas)

    @cached_property
    def known_args(self) -> frozenset[str] | None:
        """The arguments the schema names, or None where it names none."""
        schema = self.input_schema
        properties = schema.get("properties") if isinstance(schema, dict) else None
        return frozenset(properties) if isinstance(properties, dict) else None

    @property
    def arg_constraints(self) -> Mapping[str, Any]:
        value = self.raw.get("arg_constraints")
        if value is None:
            return {}
        return value if isinstance(value, dict) else {"arg_constraints": None}

    @cached_property
    def decision_bindings(self) -> frozenset[str]:
        listed = self.raw.get("decision_bindings")
        found = [*(listed if isinstance(listed, list) else ()), self.raw.get("decision_binding")]
        return frozenset(decision_key(item) for item in found if isinstance(item, str))

    @cached_property
    def evidence_keys(self) -> tuple[str, ...] | None:
        """What its results can be cited by; None where it does not say."""
        listed = self.raw.get("evidence_keys")
        if not isinstance(listed, list):
            return None
        return tuple(item for item in listed if isinstance(item, str))


@dataclass(frozen=True, slots=True)
class ModePolicy:
    """One entry of `effective_mode_policy`."""

    when: Any
    effective_mode: Any


@dataclass(frozen=True)
class PlanPack:
    """A pack in the form the critic reads; callers may keep it by digest."""

    names: CapabilityNames
    capabilities: Mapping[str, PlanCapability]
    permissions: Mapping[str, tuple[Permission, ...]]
    skills: Mapping[str, Skill]
    aliases: Mapping[str, Mapping[str, Any]]
    mode_policies: Mapping[str, tuple[ModePolicy, ...]]
    matches: Mapping[str, PermissionMatch] | None = None  # by id, where a run settled them before

    def capability(self, spelling: str) -> PlanCapability | None:
        """The declared capability meant by either spelling of its name."""
        name = self.names.resolve(spelling)
        return None if name is None else self.capabilities[name.capability_id]

    def match(self, name: CapabilityName, scope: RunScope) -> PermissionMatch:
        """The permissions that speak about a capability in this scope."""
        if self.matches is not None:
            return self.matches.get(name.capability_id, PermissionMatch())
        return match_permissions(
            self._permissions_about(name), capability=name, names=self.names, scope=scope
        )

    def _permissions_about(self, name: CapabilityName) -> tuple[Permission, ...]:
        """The permissions that may be about a capability; only matching tells for sure."""
        by_operation = self.permissions.get(name.operation, ())
        if name.operation == name.capability_id:
            return by_operation
        return by_operation + self.permissions.get(name.capability_id, ())


def read_pack(document: Any) -> PlanPack:
    """The pack in a document; raises `plan.invalid` where it can't be read."""
    pack = object_at(document, "/pack")
    capabilities = _capabilities(pack)
    names = CapabilityNames(item.name for item in capabilities.values())
    skills = [object_at(raw, "/pack/skills") for raw in list_at(pack, "skills", "/pack")]
    return PlanPack(
        names=names,
        capabilities=capabilities,
        permissions=_grouped((item.capability, item) for item in _permissions(pack)),
        skills=newest(map(read_skill, skills)),
        aliases=_aliases(pack),
        mode_policies=_grouped(_mode_policies(pack, names)),
    )


def _grouped(pairs: Iterable[tuple[str, _Item]]) -> dict[str, tuple[_Item, ...]]:
    groups: dict[str, list[_Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return {key: tuple(items) for key, items in groups.items()}


def _capabilities(pack: Mapping[str, Any]) -> dict[str, PlanCapability]:
    schemas = pack.get("schemas")
    found: dict[str, PlanCapability] = {}
    for index, item in enumerate(list_at(pack, "capabilities", "/pack")):
        raw = object_at(item, f"/pack/capabilities/{index}")
        capability = PlanCapability(
            name=_name(raw), raw=raw, schemas=schemas if isinstance(schemas, dict) else {}
        )
        found.setdefault(capability.capability_id, capability)
    found.pop("", None)  # what has no id can't be named by any step
    return found


def _name(raw: Mapping[str, Any]) -> CapabilityName:
    capability_id, adapter_id = raw.get("capability_id"), raw.get("adapter_id")
    return CapabilityName.of(
        capability_id if isinstance(capability_id, str) else "",
        adapter_id if isinstance(adapter_id, str) else None,
        active=raw.get("state") in (None, *_USABLE),
    )


def _permissions(pack: Mapping[str, Any]) -> list[Permission]:
    layer = pack.get("tooling_layer")
    owner = pack if "permissions" in pack or not isinstance(layer, dict) else layer
    listed = list_at(owner, "permissions", "/pack")
    return [
        read_permission(object_at(raw, f"/pack/permissions/{index}"))
        for index, raw in enumerate(listed)
    ]


def _aliases(pack: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    listed = pack.get("cached_aliases")
    aliases = {} if listed is None else object_at(listed, "/pack/cached_aliases")
    return {
        alias: object_at(raw, f"/pack/cached_aliases/{alias}") for alias, raw in aliases.items()
    }


def _mode_policies(
    pack: Mapping[str, Any], names: CapabilityNames
) -> Iterator[tuple[str, ModePolicy]]:
    """Each entry with the exact id of the capability it means."""
    for index, item in enumerate(list_at(pack, "effective_mode_policy", "/pack")):
        raw = object_at(item, f"/pack/effective_mode_policy/{index}")
        spelling = raw.get("capability_id")
        name = names.resolve(spelling) if isinstance(spelling, str) else None
        if name is not None:
            yield name.capability_id, ModePolicy(raw.get("when", {}), raw.get("effective_mode"))
