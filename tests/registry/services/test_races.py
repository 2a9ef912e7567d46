"""Two people at the same moment: one change happens, the other is told so, nothing is half done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import close_old_connections, connection

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from registry.models import AdapterVersion, Capability, KillSwitch, Review
from registry.selectors import generation_of
from tests.registry.house import House
from tests.registry.manifests import orders, refunds

ROUNDS = 3
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def crowd() -> House:
    """A house whose people exist before the threads start."""
    house = House()
    for name in ("author", "reviewer", "reviewer2", "admin", "operator"):
        house.user(name)
    return house


def at_once(*steps: Callable[[], Any]) -> list[str]:
    """Run each step in its own thread and connection; 'done' or the code of its refusal."""
    outcomes = [""] * len(steps)
    start = threading.Barrier(len(steps))

    def run(place: int, step: Callable[[], Any]) -> None:
        try:
            start.wait(timeout=30)
            step()
            outcomes[place] = "done"
        except ContextOSError as refusal:
            outcomes[place] = refusal.code
        except Exception as fault:  # noqa: BLE001  a deadlock must fail the test by name
            outcomes[place] = f"{type(fault).__name__}: {fault}"
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(steps)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    close_old_connections()
    return outcomes


def _events(version: AdapterVersion, word: str) -> int:
    return AuditEvent.objects.filter(
        subject_id=version.pk, action=f"adapter_version.{word}"
    ).count()


@pytest.mark.proves("B2")
def test_two_people_approving_at_once_approve_once(crowd: House) -> None:
    for _ in range(ROUNDS):
        version = crowd.in_review(orders())
        outcomes = at_once(
            partial(crowd.approve, version, by="reviewer"),
            partial(crowd.approve, version, by="reviewer2"),
        )
        assert sorted(outcomes) == ["done", "state.transition_refused"]
        assert crowd.fresh(version).state == "approved"
        assert Review.objects.filter(version=version).count() == 1
        assert _events(version, "approved") == 1


@pytest.mark.proves("B2", "B3")
def test_the_two_reviewers_of_a_destructive_version_may_press_at_once(crowd: House) -> None:
    for _ in range(ROUNDS):
        version = crowd.in_review(refunds())
        outcomes = at_once(
            partial(crowd.approve, version, by="reviewer"),
            partial(crowd.approve, version, by="reviewer2"),
        )
        assert outcomes == ["done", "done"]
        assert crowd.fresh(version).state == "approved"
        assert _events(version, "approved") == 1


@pytest.mark.proves("B3")
def test_one_person_pressing_twice_counts_once(crowd: House) -> None:
    for _ in range(ROUNDS):
        version = crowd.in_review(refunds())
        outcomes = at_once(*[partial(crowd.approve, version, by="reviewer")] * 2)
        assert sorted(outcomes) == ["done", "review.already_decided"]
        assert crowd.fresh(version).state == "in_review"


@pytest.mark.proves("B2")
def test_an_approval_racing_a_rejection_leaves_one_verdict(crowd: House) -> None:
    for _ in range(ROUNDS):
        version = crowd.in_review(orders())
        outcomes = at_once(
            partial(crowd.approve, version, by="reviewer"),
            partial(crowd.reject, version, by="reviewer2"),
        )
        assert sorted(outcomes) == ["done", "state.transition_refused"]
        assert crowd.fresh(version).state in {"approved", "rejected"}
        assert Review.objects.filter(version=version).count() == 1


@pytest.mark.proves("B2")
def test_publishing_the_successor_races_the_retirement_of_the_predecessor(crowd: House) -> None:
    for _ in range(ROUNDS):
        active = crowd.published(orders())
        successor = crowd.approved(orders())
        outcomes = at_once(
            partial(crowd.publish, successor),
            partial(crowd.retire, active),
        )
        # Both orders are sound: a version may be retired before or after it was deprecated.
        assert outcomes == ["done", "done"]
        assert crowd.fresh(successor).state == "published"
        assert crowd.fresh(active).state == "retired"
        assert _active_versions(crowd) == {successor.version_id}


@pytest.mark.proves("B2")
def test_publishing_races_the_retirement_of_the_same_version(crowd: House) -> None:
    for _ in range(ROUNDS):
        version = crowd.approved(orders())
        outcomes = at_once(partial(crowd.publish, version), partial(crowd.retire, version))
        assert outcomes[1] == "done"
        assert outcomes[0] in {"done", "state.transition_refused"}
        assert crowd.fresh(version).state == "retired"
        assert _active_versions(crowd) == set()


@pytest.mark.proves("B2")
def test_two_publications_of_different_versions_leave_one_active(crowd: House) -> None:
    for _ in range(ROUNDS):
        first, second = crowd.approved(orders()), crowd.approved(orders())
        outcomes = at_once(partial(crowd.publish, first), partial(crowd.publish, second))
        assert outcomes == ["done", "done"]
        states = sorted(crowd.fresh(v).state for v in (first, second))
        assert states == ["deprecated", "published"]
        assert len(_active_versions(crowd)) == 1


@pytest.mark.proves("B17")
def test_two_rollbacks_to_the_same_version_are_one(crowd: House) -> None:
    for _ in range(ROUNDS):
        old = crowd.published(orders())
        crowd.published(orders())
        outcomes = at_once(*[partial(crowd.publish, old)] * 2)
        assert sorted(outcomes) == ["done", "state.transition_refused"]
        assert _events(old, "rolled_back") == 1


@pytest.mark.proves("B8")
def test_two_adapters_publishing_the_same_capability_leave_one(crowd: House) -> None:
    for number in range(ROUNDS):
        names = {"environment": "staging"}
        rivals = [crowd.approved(_renamed(f"adp_{side}_{number}", number) | names) for side in "ab"]
        outcomes = at_once(*[partial(crowd.publish, v) for v in rivals])
        assert sorted(outcomes) == ["done", "manifest.capability_taken"]


@pytest.mark.proves("B2")
def test_the_same_number_twice_at_once_is_given_once(crowd: House) -> None:
    crowd.draft(orders(version="0.1.0"))
    for number in range(ROUNDS):
        taken = orders(version=f"1.{number}.0")
        outcomes = at_once(*[partial(crowd.draft, taken)] * 2)
        assert sorted(outcomes) == ["done", "manifest.version_taken"]


def test_numbers_that_nobody_chose_are_given_in_turn(crowd: House) -> None:
    outcomes = at_once(*[lambda: crowd.draft(orders())] * 4)
    assert outcomes == ["done"] * 4
    numbers = sorted(AdapterVersion.objects.values_list("version", flat=True))
    assert numbers == ["1.0.0", "1.1.0", "1.2.0", "1.3.0"]


@pytest.mark.proves("B2")
def test_an_edit_racing_the_submission_is_in_it_or_refused(crowd: House) -> None:
    for _ in range(ROUNDS):
        draft = crowd.draft(orders())
        outcomes = at_once(
            partial(crowd.edit, draft, orders(name="Edited"), by="admin"),
            partial(crowd.submit, draft),
        )
        assert outcomes[1] == "done"
        assert outcomes[0] in {"done", "manifest.not_a_draft"}
        final = crowd.fresh(draft)
        assert final.state == "in_review"
        assert (crowd.user("admin").user_id in final.editors) == (outcomes[0] == "done")


@pytest.mark.proves("B19")
def test_switches_thrown_beside_publications_all_count(crowd: House) -> None:
    version = crowd.approved(orders())
    before = generation_of(crowd.tenant_id)

    def throw(scope: str, target: str) -> KillSwitch:
        return crowd.throw(scope, target)

    outcomes = at_once(
        lambda: crowd.publish(version),
        lambda: throw("adapter", "adp_orders"),
        lambda: throw("tenant", crowd.tenant_id),
        lambda: throw("tenant", crowd.tenant_id),
    )
    assert outcomes[:2] == ["done", "done"]
    assert sorted(outcomes[2:]) == ["done", "kill_switch.already_thrown"]
    assert generation_of(crowd.tenant_id) >= before + 3


def _active_versions(house: House) -> set[str]:
    rows = Capability.objects.filter(tenant_id=house.tenant_id, is_active=True)
    return set(rows.values_list("version_id", flat=True))


def _renamed(adapter_id: str, number: int) -> dict[str, Any]:
    manifest = orders(adapter_id=adapter_id)
    manifest["capabilities"][0]["capability_id"] = f"orders.lookup_{number}"
    return manifest
