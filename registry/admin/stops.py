"""Which kill switches stop what a page shows, and what a new one would stop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from registry.models import AdapterVersion, Capability, KillSwitch
from registry.models.kill_switches import KillScope
from registry.selectors import catalogue, thrown_switches

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Reach:
    """What a switch stops: the published capabilities it covers, the first few by name."""

    total: int
    names: tuple[str, ...]
    sentence: str

    @property
    def unnamed(self) -> int:
        """How many more there are than are named."""
        return self.total - len(self.names)


def stops_on(
    tenant_id: str,
    *,
    adapter_id: str = "",
    version_ids: Iterable[str] = (),
    capability_ids: Iterable[str] = (),
) -> list[KillSwitch]:
    """The thrown switches that touch any of these things, the widest first."""
    wanted = Q(scope=KillScope.TENANT)
    if adapter_id:
        wanted |= Q(scope=KillScope.ADAPTER, target_id=adapter_id)
    wanted |= Q(scope=KillScope.VERSION, target_id__in=list(version_ids))
    wanted |= Q(scope=KillScope.CAPABILITY, target_id__in=list(capability_ids))
    order = {scope: rank for rank, scope in enumerate(_WIDEST_FIRST)}
    found = thrown_switches(tenant_id).filter(wanted)
    return sorted(found, key=lambda switch: (order[switch.scope], switch.target_id))


_WIDEST_FIRST = (
    KillScope.TENANT.value,
    KillScope.ADAPTER.value,
    KillScope.VERSION.value,
    KillScope.CAPABILITY.value,
)


def reach_of(tenant_id: str, scope: str, target_id: str) -> Reach:
    """What would stop if this were thrown now."""
    rows = _covered(tenant_id, scope, target_id)
    names = list(rows.order_by("capability_id").values_list("capability_id", flat=True)[:SHOWN])
    total = rows.count() if len(names) == SHOWN else len(names)
    return Reach(total, tuple(names), _sentence(scope, target_id, total))


def target_label(switch: KillSwitch) -> str:
    """What a switch stops, in words a person knows; versions are stored by their id."""
    if switch.scope != KillScope.VERSION:
        return switch.target_id
    rows = AdapterVersion.objects.filter(pk=switch.target_id, tenant_id=switch.tenant_id)
    found = rows.select_related("adapter").defer("envelope").first()
    return str(found) if found else switch.target_id


def _covered(tenant_id: str, scope: str, target_id: str) -> QuerySet[Capability]:
    rows = catalogue(tenant_id)
    if scope == KillScope.ADAPTER:
        return rows.filter(version__adapter__adapter_id=target_id)
    if scope == KillScope.VERSION:
        # Runs that opened earlier may still be pinned to a version that is no longer active.
        return Capability.objects.filter(tenant_id=tenant_id, version_id=target_id)
    if scope == KillScope.CAPABILITY:
        return rows.filter(capability_id=target_id)
    return rows


def _sentence(scope: str, target_id: str, total: int) -> str:
    noun = "capability" if total == 1 else "capabilities"
    if scope == KillScope.TENANT:
        return f"Every call in this tenant stops: {total} published {noun}."
    if scope == KillScope.CAPABILITY:
        return f"Calls to {target_id} stop in every environment that publishes it."
    verb = "stops" if total == 1 else "stop"
    return f"{total} {noun} {verb}, also for runs that are under way."
