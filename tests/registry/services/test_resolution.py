"""What is published is kept in memory, as of the tenant's generation, and opened from there."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode, CapabilityClass
from registry import resolution
from registry.compiled import compiled_for
from registry.resolution import SnapshotCache
from registry.selectors import generation_of
from registry.services.generation import bump_generation
from tests.registry.documents import bundle, pack
from tests.registry.house import House
from tests.registry.manifests import many, orders, refunds
from tests.registry.offered import new_run, offered
from tests.registry.walks import pack_walk, policy_walk


@pytest.mark.proves("B8")
def test_a_resolved_capability_says_all_that_a_call_needs(house: House) -> None:
    version = house.published(refunds())
    offer = offered(house.tenant_id)["payments.issue_refund"]
    found = offer.capability
    assert found.approval_mode is ApprovalMode.DESTRUCTIVE
    assert found.capability_class is CapabilityClass.ACT
    assert (found.adapter_id, found.version, found.version_id) == (
        "adp_payments",
        "1.0.0",
        version.version_id,
    )
    assert found.manifest_hash == version.digest
    assert found.declaration["requires_approval_gate"] == "GATE_FINANCE_APPROVAL"
    assert found.declaration["input_schema_ref"] in found.manifest["schemas"]
    assert offer.refusal is None


@pytest.mark.parametrize(
    "name", ["orders.absent", "", "ORDERS.LOOKUP", "orders.*", "payments.issue_refund"]
)
def test_what_is_not_published_is_unknown(house: House, name: str) -> None:
    house.published(orders())
    house.approved(refunds())
    policy_walk(house).published(bundle())
    pack_walk(house).published(pack())
    run = compiled_for(new_run(house), generation_of(house.tenant_id))
    assert set(run.permitted) == {"orders.lookup"}
    with pytest.raises(ContextOSError) as refusal:
        run.resolve(name)
    assert refusal.value.code == "capability.unknown"


def test_a_snapshot_holds_one_environment_and_one_tenant(house: House, neighbour: House) -> None:
    house.published(orders())
    neighbour.published(refunds())
    assert set(offered(house.tenant_id)) == {"orders.lookup"}
    assert not offered(house.tenant_id, "staging")


def test_a_capability_narrowed_to_other_tenants_is_not_there(house: House) -> None:
    manifest = many(2)
    manifest["capabilities"][0]["tenants"] = ["tenant_elsewhere"]
    manifest["capabilities"][1]["tenants"] = ["tenant_elsewhere", house.tenant_id]
    house.published(manifest)
    assert set(offered(house.tenant_id)) == {"orders.lookup_1"}


def test_a_warm_snapshot_takes_no_statement(
    house: House, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    house.published(orders())
    cache, generation = SnapshotCache(), generation_of(house.tenant_id)
    cache.get(house.tenant_id, "production", generation)
    with django_assert_num_queries(0):
        (found,) = cache.get(house.tenant_id, "production", generation).published
    assert found.version == "1.0.0"


def test_a_new_generation_is_read_with_three_statements_however_much_is_published(
    house: House, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        manifest = orders(adapter_id=f"adp_{number}")
        manifest["capabilities"][0]["capability_id"] = f"orders.lookup_{number}"
        house.published(manifest)
    with django_assert_num_queries(3):
        snapshot = SnapshotCache().get(house.tenant_id, "production", 1)
    assert len(snapshot.published) == 4


def test_generations_never_repeat_even_after_a_restore(house: House) -> None:
    house.published(orders())
    before = generation_of(house.tenant_id)
    from registry.models import RegistryGeneration

    RegistryGeneration.objects.filter(tenant_id=house.tenant_id).update(number=1)  # a backup
    bump_generation(house.tenant_id)
    assert generation_of(house.tenant_id) > before


def test_the_cache_forgets_the_oldest_and_stays_bounded(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolution, "MAX_CACHED_SNAPSHOTS", 2)
    cache = SnapshotCache()
    for environment in ("production", "staging", "development"):
        cache.get(house.tenant_id, environment, 1)
    assert len(cache.held) == 2
    assert (house.tenant_id, "production") not in cache.held


def test_many_threads_at_once_build_one_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    gate = threading.Barrier(8)

    def slow(tenant_id: str, environment: str, generation: int) -> Any:
        built.append(generation)
        return resolution.TenantSnapshot(generation)

    monkeypatch.setattr(resolution, "build_snapshot", slow)
    cache = SnapshotCache()

    def ask() -> None:
        gate.wait()
        cache.get("tenant_x", "production", 7)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [7]
