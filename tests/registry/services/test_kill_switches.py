"""A thrown switch stops what it names on the next call, in every process, and is recorded."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from registry.models import KillSwitch
from registry.resolution import SnapshotCache
from registry.selectors import generation_of, thrown_switches
from registry.services.kill_switches import lift_switch, throw_switch
from tests.registry.house import House
from tests.registry.manifests import many, orders, refunds
from tests.registry.offered import offered


def throw(house: House, scope: str, target: str, reason: str = "Incident 311.") -> KillSwitch:
    return house.throw(scope, target, reason=reason)


def _code(act: object, *args: object, **kwargs: object) -> str:
    with pytest.raises(ContextOSError) as caught:
        act(*args, **kwargs)  # type: ignore[operator]
    return caught.value.code


@pytest.mark.proves("B19")
@pytest.mark.parametrize("scope", ["adapter", "version", "capability", "tenant"])
def test_a_switch_bites_at_the_next_resolution_of_a_warm_process(house: House, scope: str) -> None:
    version = house.published(many(2))
    house.published(refunds())
    target = {
        "adapter": "adp_orders",
        "version": version.version_id,
        "capability": "orders.lookup_0",
        "tenant": house.tenant_id,
    }[scope]
    elsewhere = SnapshotCache()  # another process: it learns of changes by the number alone

    def stopped() -> set[str]:
        found = offered(house.tenant_id, cache=elsewhere)
        return {name for name, offer in found.items() if offer.refusal}

    assert stopped() == set()
    switch = throw(house, scope, target)
    assert (
        stopped()
        == {
            "adapter": {"orders.lookup_0", "orders.lookup_1"},
            "version": {"orders.lookup_0", "orders.lookup_1"},
            "capability": {"orders.lookup_0"},
            "tenant": {"orders.lookup_0", "orders.lookup_1", "payments.issue_refund"},
        }[scope]
    )
    lift_switch(switch_id=switch.pk, actor=house.actor("operator"), reason="Fixed.")
    assert stopped() == set()


@pytest.mark.proves("B19")
def test_whoever_is_stopped_reads_the_reason_of_the_widest_switch(house: House) -> None:
    house.published(orders())
    throw(house, "capability", "orders.lookup", "Only this one.")
    throw(house, "tenant", house.tenant_id, "All of it.")
    refusal = offered(house.tenant_id)["orders.lookup"].refusal
    assert refusal is not None
    assert refusal.message == "orders.lookup is switched off: All of it."


@pytest.mark.proves("B19")
def test_throwing_and_lifting_are_in_the_log(house: House) -> None:
    house.published(orders())
    switch = throw(house, "adapter", "adp_orders", "  Books twice.  ")
    lift_switch(switch_id=switch.pk, actor=house.actor("admin"), reason="Repaired.")
    events = AuditEvent.objects.filter(subject_id=switch.pk).order_by("event_id")
    assert [(e.action, e.actor_id) for e in events] == [
        ("kill_switch.thrown", house.user("operator").user_id),
        ("kill_switch.lifted", house.user("admin").user_id),
    ]
    switch.refresh_from_db()
    assert (switch.reason, switch.lift_reason) == ("Books twice.", "Repaired.")
    assert not switch.is_thrown


@pytest.mark.parametrize(
    ("scope", "target", "reason", "code"),
    [
        ("adapter", "adp_misspelt", "Why.", "kill_switch.target_unknown"),
        ("version", "adv_misspelt", "Why.", "kill_switch.target_unknown"),
        ("capability", "orders.misspelt", "Why.", "kill_switch.target_unknown"),
        ("tenant", "tenant_of_somebody", "Why.", "kill_switch.target_unknown"),
        ("everything", "*", "Why.", "kill_switch.scope_unknown"),
        ("adapter", "adp_orders", " ", "kill_switch.reason_missing"),
    ],
)
def test_a_switch_that_would_stop_nothing_is_refused(
    house: House, scope: str, target: str, reason: str, code: str
) -> None:
    house.published(orders())
    before = generation_of(house.tenant_id)
    assert _code(throw, house, scope, target, reason) == code
    assert not KillSwitch.objects.exists()
    assert generation_of(house.tenant_id) == before


def test_one_target_has_one_thrown_switch_and_may_be_stopped_again_later(house: House) -> None:
    house.published(orders())
    switch = throw(house, "adapter", "adp_orders")
    assert _code(throw, house, "adapter", "adp_orders") == "kill_switch.already_thrown"
    operator = house.actor("operator")
    lift_switch(switch_id=switch.pk, actor=operator, reason="Fixed.")
    again = {"switch_id": switch.pk, "actor": operator, "reason": "Fixed."}
    assert _code(lift_switch, **again) == "kill_switch.already_lifted"
    assert throw(house, "adapter", "adp_orders").pk != switch.pk
    assert thrown_switches(house.tenant_id).count() == 1


def test_nobody_reaches_into_another_tenant(house: House, neighbour: House) -> None:
    house.published(orders())
    outsider = neighbour.actor("operator")
    terms = {"scope": "adapter", "target_id": "adp_orders", "reason": "Mine?"}
    assert (
        _code(throw_switch, tenant_id=house.tenant_id, actor=outsider, **terms)
        == "tenant.forbidden"
    )
    assert (
        _code(throw_switch, tenant_id=neighbour.tenant_id, actor=outsider, **terms)
        == "kill_switch.target_unknown"
    )
    switch = throw(house, "adapter", "adp_orders")
    lifting = {"switch_id": switch.pk, "actor": outsider, "reason": "Mine?"}
    assert _code(lift_switch, **lifting) == "tenant.forbidden"
