"""One active version, its capabilities switched with it, and the way back."""

from __future__ import annotations

from typing import Any

import pytest

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from registry.models import AdapterVersion, Capability
from registry.selectors import active_version, catalogue, generation_of
from tests.registry.house import House
from tests.registry.manifests import many, narrower, orders, refunds, wider, with_warning
from tests.registry.offered import offered


def _active(house: House) -> set[tuple[str, str]]:
    rows = catalogue(house.tenant_id).values_list("capability_id", "version__version")
    return set(rows)


def _refusal(house: House, version: AdapterVersion) -> str:
    with pytest.raises(ContextOSError) as caught:
        house.publish(version)
    return caught.value.code


@pytest.mark.proves("B2", "B8")
def test_capabilities_are_active_with_their_version_and_only_then(house: House) -> None:
    version = house.approved(orders())
    assert _active(house) == set()
    house.publish(version)
    assert _active(house) == {("orders.lookup", "1.0.0")}
    house.retire(version)
    assert _active(house) == set()


@pytest.mark.proves("B17")
def test_publishing_the_old_version_again_is_a_recorded_rollback(house: House) -> None:
    first = house.published(many(2))
    second = house.published(many(3))
    house.publish(first, notes="Version two loses orders; incident 7.")
    assert [house.fresh(v).state for v in (first, second)] == ["published", "deprecated"]
    assert _active(house) == {("orders.lookup_0", "1.0.0"), ("orders.lookup_1", "1.0.0")}
    offers = offered(house.tenant_id).values()
    assert {offer.capability.version for offer in offers} == {"1.0.0"}
    event = AuditEvent.objects.get(subject_id=first.pk, action="adapter_version.rolled_back")
    assert "incident 7" in event.text
    assert house.fresh(first).publication_notes == "Version two loses orders; incident 7."
    house.publish(second)
    assert house.fresh(second).state == "published"


@pytest.mark.proves("B2")
def test_each_environment_has_its_own_active_version(house: House) -> None:
    production = house.published(orders())
    staging = house.published(orders(environment="staging"))
    assert active_version(production.adapter_id, "production") == production
    assert active_version(production.adapter_id, "staging") == staging
    assert len(_active(house)) == 2


@pytest.mark.proves("B8")
def test_a_capability_belongs_to_one_published_adapter_per_environment(house: House) -> None:
    house.published(orders())
    rival = house.approved(orders(adapter_id="adp_rival"))
    assert _refusal(house, rival) == "manifest.capability_taken"
    assert house.fresh(rival).state == "approved"
    elsewhere = house.published(orders(adapter_id="adp_rival", environment="staging"))
    assert elsewhere.state == "published"


def test_tenants_do_not_share_capability_names(house: House, neighbour: House) -> None:
    house.published(orders())
    assert neighbour.published(orders()).state == "published"
    assert Capability.objects.filter(capability_id="orders.lookup", is_active=True).count() == 2


def test_the_adapter_is_shown_under_its_published_name(house: House) -> None:
    version = house.approved(orders())
    house.draft(orders(name="Not reviewed", owner_role="nobody"))
    assert house.publish(version).adapter.name == "Orders"
    renamed = house.published(orders(name="Orders II", owner_role="sales"))
    renamed.adapter.refresh_from_db()
    assert (renamed.adapter.name, renamed.adapter.owner_role) == ("Orders II", "sales")


def test_a_publication_raises_the_generation_and_a_refused_one_does_not(house: House) -> None:
    start = generation_of(house.tenant_id)
    version = house.approved(orders())
    assert generation_of(house.tenant_id) == start
    house.publish(version)
    published = generation_of(house.tenant_id)
    assert published > start
    assert _refusal(house, version) == "state.transition_refused"
    assert generation_of(house.tenant_id) == published
    house.retire(version)
    assert generation_of(house.tenant_id) > published


# --- the risk that reviewers see, and the fast path ----------------------------------------------
@pytest.mark.proves("B3")
def test_the_risk_against_the_published_version_is_settled_at_submission(house: House) -> None:
    first = house.published(orders())
    assert (first.risk, first.compared_with) == ("widens", None)
    seen = [house.in_review(manifest) for manifest in (narrower(), wider(), orders())]
    assert [version.risk for version in seen] == ["narrows", "widens", "neutral"]
    assert {version.compared_with_id for version in seen} == {first.pk}


def test_without_the_setting_a_narrowing_needs_a_reviewer(house: House) -> None:
    house.published(orders())
    assert house.in_review(narrower()).state == "in_review"


@pytest.fixture
def fast_path(settings: Any) -> None:
    settings.REGISTRY_FAST_PATH_FOR_NARROWING = True


@pytest.mark.proves("B3")
@pytest.mark.usefixtures("fast_path")
def test_by_setting_a_change_that_only_narrows_needs_nobody(house: House) -> None:
    house.published(orders())
    version = house.in_review(narrower())
    assert (version.state, version.reviewers_needed) == ("approved", 0)
    event = AuditEvent.objects.get(subject_id=version.pk, action="adapter_version.approved")
    assert "fast path by setting" in event.text
    assert house.publish(version).state == "published"


@pytest.mark.proves("B3")
@pytest.mark.usefixtures("fast_path")
@pytest.mark.parametrize("make", [orders, wider, refunds, with_warning])
def test_the_fast_path_takes_nothing_else(house: House, make: object) -> None:
    house.published(orders())
    manifest = make()  # type: ignore[operator]
    version = house.in_review({**manifest, "adapter_id": "adp_orders"})
    assert version.state == "in_review"


@pytest.mark.usefixtures("fast_path")
def test_a_first_version_never_takes_the_fast_path(house: House) -> None:
    assert house.in_review(orders()).state == "in_review"


@pytest.mark.proves("B3")
@pytest.mark.usefixtures("fast_path")
def test_what_narrowed_another_version_than_the_active_one_is_not_published_unseen(
    house: House,
) -> None:
    first = house.published(orders())
    narrowed = house.in_review(narrower())
    assert narrowed.state == "approved"
    house.published(orders())
    assert _refusal(house, narrowed) == "manifest.comparison_outdated"
    house.publish(first)
    assert house.publish(narrowed).state == "published"


@pytest.mark.usefixtures("fast_path")
def test_rolling_back_to_what_took_the_fast_path_is_possible(house: House) -> None:
    house.published(orders())
    narrowed = house.publish(house.in_review(narrower()))
    house.published(wider())
    assert house.publish(narrowed).state == "published"
