"""Every step from every state: the table says which exist, and nothing else moves a version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from contextos.review.states import LIFECYCLE, VersionState
from registry.models import AdapterVersion
from tests.recorded_worlds import ready
from tests.registry.house import House, staffed
from tests.registry.manifests import orders

S = VersionState


def _published(house: House) -> AdapterVersion:
    return house.published(orders())


def _deprecated(house: House) -> AdapterVersion:
    version = house.published(orders())
    house.published(orders())
    return house.fresh(version)


REACHED: dict[str, Callable[[House], AdapterVersion]] = {
    S.DRAFT: lambda house: house.draft(orders()),
    S.IN_REVIEW: lambda house: house.in_review(orders()),
    S.CHANGES_REQUESTED: lambda house: house.request_changes(house.in_review(orders())),
    S.REJECTED: lambda house: house.reject(house.in_review(orders())),
    S.APPROVED: lambda house: house.approved(orders()),
    S.PUBLISHED: _published,
    S.DEPRECATED: _deprecated,
    S.RETIRED: lambda house: house.retire(house.published(orders())),
}
STEPS: dict[str, tuple[Callable[[House, AdapterVersion], Any], str, str]] = {
    "submit": (lambda house, v: house.submit(v), S.IN_REVIEW, "submitted"),
    "approve": (lambda house, v: house.approve(v, by="reviewer2"), S.APPROVED, "approved"),
    "reject": (lambda house, v: house.reject(v, by="reviewer2"), S.REJECTED, "rejected"),
    "request changes": (
        lambda house, v: house.request_changes(v, by="reviewer2"),
        S.CHANGES_REQUESTED,
        "changes_requested",
    ),
    "publish": (lambda house, v: house.publish(v), S.PUBLISHED, "published"),
    "retire": (lambda house, v: house.retire(v), S.RETIRED, "retired"),
}


def _reached(*, source: str) -> tuple[House, AdapterVersion]:
    house = ready(staffed)
    return house, REACHED[source](house)


def _last_action(version: AdapterVersion) -> str:
    rows = AuditEvent.objects.filter(subject_id=version.pk).order_by("event_id")
    return str(rows.values_list("action", flat=True).last())


def test_every_state_and_every_way_into_it_is_tested() -> None:
    assert set(REACHED) == LIFECYCLE.states
    targets = {target for targets in LIFECYCLE.transitions.values() for target in targets}
    assert targets == {target for _, target, _ in STEPS.values()} | {S.DEPRECATED}


@pytest.mark.proves("B2")
@pytest.mark.parametrize("source", sorted(REACHED))
@pytest.mark.parametrize("step", sorted(STEPS))
def test_a_step_exists_exactly_where_the_table_says_so(db: None, source: str, step: str) -> None:
    house, version = ready(_reached, source=source)
    assert version.state == source
    take, target, word = STEPS[step]
    before = _last_action(version)
    if LIFECYCLE.allows(source, target):
        take(house, version)
        expected = "rolled_back" if source == S.DEPRECATED and step == "publish" else word
        assert house.fresh(version).state == target
        assert _last_action(version) == f"adapter_version.{expected}"
        return
    with pytest.raises(ContextOSError) as refusal:
        take(house, version)
    assert refusal.value.code == "state.transition_refused"
    assert house.fresh(version).state == source
    assert _last_action(version) == before


@pytest.mark.proves("B2")
def test_publishing_a_successor_deprecates_the_predecessor_and_says_so(house: House) -> None:
    first = house.published(orders())
    second = house.published(orders())
    assert house.fresh(first).state == S.DEPRECATED
    event = AuditEvent.objects.get(subject_id=first.pk, action="adapter_version.deprecated")
    assert second.version_id in event.text


@pytest.mark.proves("B2")
@pytest.mark.parametrize("terminal", sorted(LIFECYCLE.terminal))
def test_what_ended_is_followed_by_a_new_version_not_by_an_edit(
    house: House, terminal: str
) -> None:
    ended = REACHED[terminal](house)
    with pytest.raises(ContextOSError) as refusal:
        house.edit(ended, orders(), by="author")
    assert refusal.value.code == "manifest.not_a_draft"
    assert house.draft(orders()).version == "1.1.0"
