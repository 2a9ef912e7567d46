"""Packs and policies under two hands at once: one of each is in force, and none waits for ever."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from contextos.review.states import VersionState
from registry.compiled import packs_for_run
from registry.models import PolicyBundleVersion
from registry.selectors import generation_of
from registry.tenant_documents import documents_of
from tests.registry.documents import bundle, pack
from tests.registry.house import House
from tests.registry.services.test_races import at_once
from tests.registry.walks import Walk, pack_walk, policy_walk

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 3
KINDS = pytest.mark.parametrize(
    ("walk_of", "make"), [(pack_walk, pack), (policy_walk, bundle)], ids=["pack", "policy"]
)


@pytest.fixture
def crowd() -> House:
    """A house whose people exist before the threads start."""
    house = House()
    for name in ("author", "reviewer", "reviewer2", "admin"):
        house.user(name)
    return house


def _published(walk: Walk) -> list[Any]:
    rows = walk.model._default_manager.filter(state=VersionState.PUBLISHED)
    return list(rows.values_list("pk", flat=True))


@pytest.mark.proves("B10", "C4")
@KINDS
def test_two_versions_published_at_once_leave_one_in_force(
    crowd: House, walk_of: Any, make: Any
) -> None:
    walk: Walk = walk_of(crowd)
    for number in range(ROUNDS):
        versions = [walk.approved(make(version=f"{number}.{half}.0")) for half in (0, 1)]
        outcomes = at_once(*(partial(walk.publish, version) for version in versions))
        assert outcomes == ["done", "done"]
        (active,) = _published(walk)
        states = {version.pk: walk.fresh(version).state for version in versions}
        assert sorted(states.values()) == ["deprecated", "published"]
        assert states[active] == "published"


@KINDS
def test_a_publication_races_the_retirement_of_what_it_replaces(
    crowd: House, walk_of: Any, make: Any
) -> None:
    walk: Walk = walk_of(crowd)
    for number in range(ROUNDS):
        active = walk.published(make(version=f"{number}.0.0"))
        successor = walk.approved(make(version=f"{number}.1.0"))
        outcomes = at_once(partial(walk.publish, successor), partial(walk.retire, active))
        assert outcomes == ["done", "done"]
        assert _published(walk) == [successor.pk]
        assert walk.fresh(active).state == "retired"


@KINDS
def test_one_version_published_twice_at_once_is_published_once(
    crowd: House, walk_of: Any, make: Any
) -> None:
    walk: Walk = walk_of(crowd)
    version = walk.approved(make())
    outcomes = at_once(*[partial(walk.publish, version)] * 2)
    assert sorted(outcomes) == ["done", "state.transition_refused"]


def test_letting_a_bundle_decide_races_the_publication_of_another(crowd: House) -> None:
    walk = policy_walk(crowd)
    for number in range(ROUNDS):
        watching = walk.published(bundle(version=f"{number}.0.0"), shadow=True)
        other = walk.approved(bundle(version=f"{number}.1.0"))
        outcomes = at_once(partial(walk.publish, watching), partial(walk.publish, other))
        assert outcomes == ["done", "done"]
        assert PolicyBundleVersion.objects.filter(state="published", shadow=False).count() == 1
        assert not PolicyBundleVersion.objects.filter(state="published", shadow=True).exists()


@KINDS
def test_two_drafts_of_the_same_number_at_once_make_one(
    crowd: House, walk_of: Any, make: Any
) -> None:
    walk: Walk = walk_of(crowd)
    outcomes = at_once(*[partial(walk.draft, make())] * 2)
    assert sorted(outcomes) == ["document.version_taken", "done"]


@pytest.mark.proves("B11")
def test_a_warm_reader_sees_a_publication_on_its_next_question(crowd: House) -> None:
    seen: list[tuple[str, ...]] = []

    def ask() -> None:
        generation = generation_of(crowd.tenant_id)
        seen.append(
            packs_for_run(tenant_id=crowd.tenant_id, intent="support.refund", generation=generation)
        )
        documents_of(crowd.tenant_id, generation)

    walk = pack_walk(crowd)
    version = walk.approved(pack())
    assert at_once(ask) == ["done"]
    assert at_once(partial(walk.publish, version)) == ["done"]
    assert at_once(ask) == ["done"]
    assert seen == [(), ("support_refund@1.0.0",)]
