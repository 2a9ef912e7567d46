"""Which permissions speak about a capability for a role, an intent and an environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from registry.capability_names import CapabilityName, CapabilityNames
from registry.packs.types import Permission

_WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class RunScope:
    """Who asks, for what, where; what is not known matches no permission that names it."""

    role: str | None = None
    intent: str | None = None
    environment: str | None = None


@dataclass(frozen=True, slots=True)
class PermissionMatch:
    """The permissions that speak about one capability; a denial outweighs every grant."""

    grants: tuple[Permission, ...] = ()
    denials: tuple[Permission, ...] = ()

    @property
    def is_permitted(self) -> bool:
        return bool(self.grants) and not self.denials


def read_permission(raw: Mapping[str, Any]) -> Permission:
    """A permission as written; an `allow` that is neither true nor absent denies."""
    allow = raw.get("allow")
    capability = raw.get("capability", raw.get("capability_id"))
    return Permission(
        permission_id=_text(raw.get("permission_id")),
        adapter_id=_text(raw.get("adapter_id")),
        capability=_text(capability),
        allow=None if allow is None else allow is True,
        approval_mode=raw.get("approval_mode"),
        arg_constraints=_constraints(raw.get("arg_constraints")),
        decision_binding=_text(raw.get("decision_binding")) or None,
        roles=_names(raw.get("roles")),
        intents=_names(raw.get("intents")),
        environments=_names(raw.get("environments")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _constraints(value: Any) -> Mapping[str, Any]:
    """Constraints of the wrong type become one that nothing can satisfy."""
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"arg_constraints": None}


def _names(value: Any) -> frozenset[str]:
    """Entries of the wrong type stay as a name that nothing bears, so that they never widen."""
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        return frozenset({""})
    return frozenset(item if isinstance(item, str) else "" for item in value)


def match_permissions(
    permissions: Iterable[Permission],
    *,
    capability: CapabilityName,
    names: CapabilityNames,
    scope: RunScope,
) -> PermissionMatch:
    """The grants and denials for a capability in this scope."""
    speaking = [
        permission
        for permission in permissions
        if names_capability(permission, capability, names) and fits_scope(permission, scope)
    ]
    return PermissionMatch(
        grants=tuple(item for item in speaking if item.allow is True),
        denials=tuple(item for item in speaking if item.allow is False),
    )


def names_capability(
    permission: Permission, capability: CapabilityName, names: CapabilityNames
) -> bool:
    """Exact match of adapter and operation; `*` is no name."""
    if not permission.capability or _WILDCARD in permission.adapter_id + permission.capability:
        return False
    if permission.capability not in (capability.operation, capability.capability_id):
        return False
    if not permission.adapter_id:
        return permission.capability == capability.capability_id
    return names.adapter_fits(permission.adapter_id, capability)


def fits_scope(permission: Permission, scope: RunScope) -> bool:
    """Whether the permission speaks for this role, intent and environment."""
    return (
        _admits(permission.roles, scope.role)
        and _admits(permission.intents, scope.intent)
        and _admits(permission.environments, scope.environment)
    )


def _admits(named: frozenset[str], value: str | None) -> bool:
    return not named or (bool(value) and value != _WILDCARD and value in named)
