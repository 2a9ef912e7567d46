"""What a run's packs say about the capabilities of its pinned versions, callable or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from registry.capability_names import adapter_meant
from registry.packs import ContextPack, Permission, RunScope
from registry.packs.permissions import fits_scope
from registry.pins import PinnedVersion, Refusal
from registry.resolution import ResolvedCapability

Place = tuple[str, str]  # adapter id, capability id
Speaking = dict[Place, list[Permission]]


@dataclass(frozen=True, slots=True)
class PermittedCapability:
    """A capability this run may call, with the permissions that say so."""

    capability: ResolvedCapability
    grants: tuple[Permission, ...]


@dataclass(frozen=True, slots=True)
class NamedCapability:
    """A capability that a permission names in the run's scope, and all that stands in its way."""

    capability: ResolvedCapability
    grants: tuple[Permission, ...] = ()
    denials: tuple[Permission, ...] = ()
    refusal: Refusal | None = None  # of its version or of policy, whatever the arguments are

    @property
    def why_not(self) -> Refusal | None:
        """Why it can't be called; a denial of the pack is said first."""
        return self._denied() if self.denials else self.refusal

    def as_permitted(self) -> PermittedCapability:
        """The same in the form that calls carry."""
        return PermittedCapability(self.capability, self.grants)

    def _denied(self) -> Refusal:
        name, first = self.capability.capability_id, self.denials[0]
        return Refusal(
            "permission.denied",
            f"The Context Pack denies {name} ({first.permission_id}).",
            "Read the run's tool manifest; have the pack changed if the capability is needed.",
        )


def named_capabilities(
    pinned: Mapping[str, PinnedVersion], packs: Iterable[ContextPack], scope: RunScope
) -> dict[str, NamedCapability]:
    """By id, everything the packs speak of for this role, intent and environment."""
    grants, denials = _speaking(pinned, packs, scope)
    denied: dict[str, list[Permission]] = {}
    for (_, name), permissions in denials.items():
        denied.setdefault(name, []).extend(permissions)
    return {
        name: NamedCapability(
            capability=pinned[adapter_id].opened.by_id[name],
            grants=tuple(grants.get((adapter_id, name), ())),
            denials=tuple(denied.get(name, ())),
            refusal=pinned[adapter_id].refusal(name),
        )
        for adapter_id, name in (*denials, *grants)
    }


def _speaking(
    pinned: Mapping[str, PinnedVersion], packs: Iterable[ContextPack], scope: RunScope
) -> tuple[Speaking, Speaking]:
    """Grants and denials by capability; each permission is looked up once, not compared with all.

    The meaning is that of `packs.match_permissions`.
    """
    adapters = sorted(pinned)
    meant: dict[str, str | None] = {}
    grants: Speaking = {}
    denials: Speaking = {}
    for permission in (item for pack in packs for item in pack.permissions):
        given = permission.adapter_id
        if given not in meant:
            meant[given] = adapter_meant(given, adapters)
        adapter_id = meant[given]
        if adapter_id is None or not fits_scope(permission, scope):
            continue
        side = grants if permission.allow is True else denials
        for name in pinned[adapter_id].opened.by_spelling.get(permission.capability, ()):
            side.setdefault((adapter_id, name), []).append(permission)
    return grants, denials
