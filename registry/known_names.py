"""The adapters and capabilities a tenant has, as packs and bundles may name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from registry.capability_names import adapter_meant, operation_of
from registry.models import Adapter, Capability
from registry.policy.selectors import spellings_of


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Every adapter, and what is published of each in any environment."""

    adapters: frozenset[str]
    published: frozenset[str]  # those of them that have something published
    modes: Mapping[tuple[str, str], str]  # (adapter, capability id or operation) -> declared mode
    spellings: frozenset[str]  # every name under which a rule meets something published

    def adapter_meant(self, given: str) -> str | None:
        """The adapter of exactly this id, else the only published one that continues it."""
        return given if given in self.adapters else adapter_meant(given, self.published)

    def mode_of(self, adapter_id: str, capability: str) -> str | None:
        """The declared mode of a published capability; None = nothing of that name."""
        return self.modes.get((adapter_id, capability))

    def knows(self, spelling: str) -> bool:
        """Whether a rule that names this capability can ever match something published."""
        return spelling in self.spellings


def known_names(tenant_id: str) -> KnownNames:
    """What there is now, in two statements."""
    adapters = Adapter.objects.filter(tenant_id=tenant_id).values_list("adapter_id", flat=True)
    rows = Capability.objects.filter(tenant_id=tenant_id, is_active=True).values_list(
        "version__adapter__adapter_id", "capability_id", "approval_mode"
    )
    modes: dict[tuple[str, str], str] = {}
    spellings: set[str] = set()
    for adapter_id, capability_id, mode in rows:
        modes[(adapter_id, capability_id)] = mode
        modes[(adapter_id, operation_of(capability_id))] = mode
        spellings |= spellings_of(capability_id, adapter_id)
    published = frozenset(adapter_id for adapter_id, _ in modes)
    return KnownNames(frozenset(adapters), published, modes, frozenset(spellings))
