"""The adapters and capabilities a tenant has, as packs and bundles may name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from registry.capability_names import operation_of
from registry.models import Adapter, Capability


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Every adapter, and what is published of each in any environment."""

    adapters: frozenset[str]
    modes: Mapping[tuple[str, str], str]  # (adapter, capability id or operation) -> declared mode
    capability_ids: frozenset[str]

    def adapter_meant(self, given: str) -> str | None:
        """The adapter of exactly this id, else the only published one that continues it."""
        if given in self.adapters:
            return given
        published = {adapter for adapter, _ in self.modes}
        continuing = [adapter for adapter in published if adapter.startswith(f"{given}_")]
        return continuing[0] if given and len(continuing) == 1 else None

    def mode_of(self, adapter_id: str, capability: str) -> str | None:
        """The declared mode of a published capability; None = nothing of that name."""
        return self.modes.get((adapter_id, capability))

    def knows(self, spelling: str) -> bool:
        """Whether a rule that names this capability can ever match something published."""
        if spelling in self.capability_ids:
            return True
        adapter, _, operation = spelling.partition(".")
        return (adapter, operation) in self.modes


def known_names(tenant_id: str) -> KnownNames:
    """What there is now, in two statements."""
    adapters = Adapter.objects.filter(tenant_id=tenant_id).values_list("adapter_id", flat=True)
    rows = Capability.objects.filter(tenant_id=tenant_id, is_active=True).values_list(
        "version__adapter__adapter_id", "capability_id", "approval_mode"
    )
    modes: dict[tuple[str, str], str] = {}
    for adapter_id, capability_id, mode in rows:
        modes[(adapter_id, capability_id)] = mode
        modes[(adapter_id, operation_of(capability_id))] = mode
    names = frozenset(capability_id for _, capability_id, _ in rows)
    return KnownNames(frozenset(adapters), modes, names)
