"""The demo's adapters: published through the real services, once, with a widening in review."""

from __future__ import annotations

from audit.models import AuditEvent
from contextos.demo.registry import build_registry
from contextos.review.states import VersionState
from registry.models import AdapterVersion, Review
from registry.selectors import signed_manifest
from tests.registry.conftest import house
from tests.registry.house import House

__all__ = ["house"]


def _build(house: House) -> None:
    names = ("admin", "author", "reviewer", "reviewer2")
    build_registry({name: house.user(name) for name in names}, tenant_id=house.tenant_id)


def test_four_adapters_are_signed_and_one_change_waits(house: House) -> None:
    _build(house)
    versions = AdapterVersion.objects.filter(tenant=house.tenant)
    published = versions.filter(state=VersionState.PUBLISHED)
    assert published.count() == 4
    for version in published:
        assert signed_manifest(version)["environment"] == "development"
    waiting = versions.get(state=VersionState.IN_REVIEW)
    assert waiting.risk == "widens"
    assert waiting.compared_with is not None
    assert waiting.reviewers_needed == 2


def test_people_of_the_demo_did_each_step_under_their_own_names(house: House) -> None:
    _build(house)
    payments = AdapterVersion.objects.get(adapter__adapter_id="adp_payments_mcp", version="1.0.0")
    reviewers = Review.objects.filter(version=payments).values_list("reviewer__username", flat=True)
    assert set(reviewers) == {house.user(n).username for n in ("reviewer", "reviewer2")}
    assert payments.author == house.author


def test_a_second_start_changes_nothing(house: House) -> None:
    _build(house)
    events = AuditEvent.objects.count()
    _build(house)
    assert AdapterVersion.objects.count() == 5
    assert AuditEvent.objects.count() == events
