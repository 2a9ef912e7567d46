"""Kill switches over REST."""

from __future__ import annotations

import pytest

from tests.registry.api.calls import caller, code_of
from tests.registry.house import House
from tests.registry.manifests import orders
from tests.registry.offered import offered


def _stopped(house: House) -> str | None:
    refusal = offered(house.tenant_id)["orders.lookup"].refusal
    return refusal.message.partition(" is switched off: ")[2] if refusal else None


@pytest.mark.proves("B19")
@pytest.mark.parametrize("scope", ["adapter", "version", "capability", "tenant"])
def test_a_switch_is_thrown_seen_and_lifted(house: House, scope: str) -> None:
    version = house.published(orders())
    target = {
        "adapter": "adp_orders",
        "version": version.version_id,
        "capability": "orders.lookup",
        "tenant": house.tenant_id,
    }[scope]
    operator = caller(house, "operator")
    thrown = operator.post(
        "kill-switches", {"scope": scope, "id": target, "reason": "Incident 311."}
    )
    assert thrown.status_code == 201
    switch = thrown.json()
    assert (switch["scope"], switch["id"], switch["is_thrown"]) == (scope, target, True)
    assert _stopped(house) == "Incident 311."
    assert [s["switch_id"] for s in operator.get("kill-switches").json()["results"]] == [
        switch["switch_id"]
    ]
    lifted = operator.delete(f"kill-switches/{switch['switch_id']}", {"reason": "Repaired."})
    assert (lifted.status_code, lifted.json()["lift_reason"]) == (200, "Repaired.")
    assert _stopped(house) is None
    assert operator.get("kill-switches").json()["results"] == []
    assert len(operator.get("kill-switches?state=lifted").json()["results"]) == 1


@pytest.mark.proves("B19")
def test_a_version_may_be_named_as_people_write_it(house: House) -> None:
    version = house.published(orders())
    operator = caller(house, "operator")
    said = {"scope": "version", "id": "adp_orders@1.0.0", "reason": "Incident 311."}
    assert operator.post("kill-switches", said).json()["id"] == version.version_id
    assert _stopped(house) == "Incident 311."
    unknown = operator.post("kill-switches", said | {"id": "adp_orders@9.0.0"})
    assert code_of(unknown) == (422, "kill_switch.target_unknown")


@pytest.mark.parametrize(
    ("body", "query", "reason"),
    [
        ({"reason": "In the body."}, "", "In the body."),
        (None, "?reason=In+the+query.", "In the query."),
        (None, "", "Lifted over REST without a reason."),
    ],
)
def test_the_reason_for_lifting_is_kept_wherever_it_stands(
    house: House, body: dict[str, str] | None, query: str, reason: str
) -> None:
    house.published(orders())
    operator = caller(house, "operator")
    terms = {"scope": "adapter", "id": "adp_orders", "reason": "Stop."}
    switch = operator.post("kill-switches", terms).json()
    lifted = operator.delete(f"kill-switches/{switch['switch_id']}{query}", body)
    assert lifted.json()["lift_reason"] == reason
    again = operator.delete(f"kill-switches/{switch['switch_id']}")
    assert code_of(again) == (409, "kill_switch.already_lifted")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"scope": "adapter", "id": "adp_absent", "reason": "x"}, "kill_switch.target_unknown"),
        ({"scope": "adapter", "id": "adp_orders", "reason": ""}, "kill_switch.reason_missing"),
        ({"scope": "adapter", "id": "adp_orders"}, "kill_switch.reason_missing"),
        ({"scope": "world", "id": "x", "reason": "x"}, "validation.failed"),
        ({"scope": "adapter", "reason": "x"}, "validation.failed"),
        ({"scope": "adapter", "id": "adp_orders", "reason": "x", "x": 1}, "validation.failed"),
    ],
)
def test_a_switch_that_would_stop_nothing_is_refused(
    house: House, body: dict[str, object], code: str
) -> None:
    house.published(orders())
    assert code_of(caller(house, "operator").post("kill-switches", body)) == (422, code)
    assert _stopped(house) is None


def test_what_is_stopped_already_is_a_conflict(house: House) -> None:
    house.published(orders())
    terms = {"scope": "adapter", "id": "adp_orders", "reason": "Stop."}
    operator = caller(house, "operator")
    operator.post("kill-switches", terms)
    assert code_of(operator.post("kill-switches", terms)) == (409, "kill_switch.already_thrown")
