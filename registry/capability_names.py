"""The two spellings of a capability: its own id, and `adapter.operation`; exact, case-sensitive."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

_ADAPTER_PREFIX = "adp_"


@dataclass(frozen=True, slots=True)
class CapabilityName:
    """A capability's id with its adapter; the adapter is implied where nobody names it."""

    capability_id: str
    adapter_id: str
    adapter_is_implied: bool = False
    active: bool = True

    @classmethod
    def of(
        cls, capability_id: str, adapter_id: str | None, *, active: bool = True
    ) -> CapabilityName:
        """`payments.issue_refund` without an adapter belongs to `adp_payments`."""
        if adapter_id:
            return cls(capability_id, adapter_id, active=active)
        domain = capability_id.partition(".")[0]
        adapter = domain if domain.startswith(_ADAPTER_PREFIX) else f"{_ADAPTER_PREFIX}{domain}"
        return cls(capability_id, adapter, adapter_is_implied=True, active=active)

    @property
    def operation(self) -> str:
        """The part after the first dot."""
        return operation_of(self.capability_id)


def operation_of(name: str) -> str:
    """The part after the first dot; a name without a dot is its own operation."""
    return name.partition(".")[2] or name


def adapter_meant(given: str, adapters: Collection[str]) -> str | None:
    """The adapter of exactly this id, else the only one that continues it."""
    if given in adapters:
        return given
    continuing = [adapter for adapter in adapters if adapter.startswith(f"{given}_")]
    return continuing[0] if given and len(continuing) == 1 else None


class CapabilityNames:
    """The capabilities one can name, looked up by either spelling."""

    def __init__(self, names: Iterable[CapabilityName], adapters: Iterable[str] = ()) -> None:
        """`adapters` names further active ones, which may make a beginning ambiguous."""
        self._by_id: Mapping[str, CapabilityName] = {name.capability_id: name for name in names}
        self._active = frozenset(adapters)
        self._by_adapter: dict[str, list[CapabilityName]] = {
            adapter: [] for adapter in self._active
        }
        for name in self._by_id.values():
            self._by_adapter.setdefault(name.adapter_id, []).append(name)

    def resolve(self, spelling: str) -> CapabilityName | None:
        """The capability meant: by id, by exact adapter, or by the single active `adapter_*`."""
        found = self._by_id.get(spelling)
        if found is not None:
            return found
        prefix, dot, operation = spelling.partition(".")
        adapter = self.adapter_meant(prefix) if dot else None
        of_adapter = self._by_adapter.get(adapter or "", ())
        fitting = [name for name in of_adapter if name.operation == operation]
        return fitting[0] if len(fitting) == 1 else None

    def adapter_meant(self, prefix: str) -> str | None:
        """The adapter of exactly this id, else the only active one that continues it."""
        if prefix in self._by_adapter:
            return prefix
        continuing = [item for item in self._by_adapter if item.startswith(f"{prefix}_")]
        active = [item for item in continuing if self._is_active(item)] or continuing
        return active[0] if prefix and len(active) == 1 else None

    def _is_active(self, adapter_id: str) -> bool:
        return adapter_id in self._active or any(n.active for n in self._by_adapter[adapter_id])

    def adapter_fits(self, given: str, name: CapabilityName) -> bool:
        """Whether an adapter id written in a permission means the capability's adapter."""
        if name.adapter_id in (given, self.adapter_meant(given)):
            return True
        return name.adapter_is_implied and given.startswith(f"{name.adapter_id}_")
