"""What a run opened now would meet: its terms, and all that is published before any permission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from registry.compiled import RunTerms, packs_for_run, pins_for_run
from registry.opened_cache import trusted_kids
from registry.pins import Refusal, pinned_versions, pins_of
from registry.resolution import ResolvedCapability, SnapshotCache, snapshots
from registry.selectors import generation_of
from tests.registry.house import House

INTENT = "support.refund"


@dataclass(frozen=True)
class Offer:
    """One capability of a published version, and why it can't be called just now."""

    capability: ResolvedCapability
    refusal: Refusal | None


def new_run(house: House, *, role: str | None = "support_agent", **how: Any) -> RunTerms:
    """The terms of a run opened now."""
    generation = generation_of(house.tenant_id)
    intent = how.get("intent", INTENT)
    environment = how.get("environment", "production")
    refs = packs_for_run(tenant_id=house.tenant_id, intent=intent, generation=generation)
    return RunTerms.of(
        tenant_id=house.tenant_id,
        environment=environment,
        intent=intent,
        role=role,
        pack_refs=refs,
        pins=pins_for_run(
            tenant_id=house.tenant_id,
            environment=environment,
            generation=generation,
            pack_refs=refs,
        ),
    )


def offered(
    tenant_id: str, environment: str = "production", *, cache: SnapshotCache = snapshots
) -> dict[str, Offer]:
    """By id, as a run finds it that is pinned to everything published; `cache` is a process's."""
    snapshot = cache.get(tenant_id, environment, generation_of(tenant_id))
    adapters = [version.adapter.adapter_id for version in snapshot.published]
    pins = tuple(sorted(pins_of(snapshot, adapters).items()))
    pinned = pinned_versions(snapshot, tenant_id, environment, pins, trusted_kids())
    return {
        name: Offer(capability, version.refusal(name))
        for version in pinned.values()
        for name, capability in version.opened.by_id.items()
    }
