"""The last calls decided again: what each brought is put together exactly as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from audit.decisions import rows_of
from audit.models import DecisionRow, Payload
from contextos.core.canonical import digest
from contextos.core.clock import utcnow
from gateway.connectors.function.connector import runner_pool
from gateway.models import ToolCall
from gateway.policy_history import recorded_policy_inputs
from registry.models import AdapterVersion
from registry.policy import evaluate, read_inputs
from tests.gateway.world import GatewayWorld
from tests.identity.signed_in import browser_of
from tests.putting_back import triggers_asleep
from tests.recorded_worlds import ready
from tests.registry.api.calls import caller
from tests.registry.documents import bundle
from tests.registry.house import House
from tests.registry.walks import policy_walk

pytestmark = pytest.mark.django_db
CALLS = "/api/v1/tool-calls"
SIMULATOR = "/admin/registry/policybundleversion/simulator/"


@pytest.fixture(scope="module", autouse=True)
def _runner(django_db_setup: None) -> Iterator[None]:
    runner_pool.cache_clear()
    with override_settings(
        CONTEXTOS_FUNCTION_MODULES=("tests.gateway.order_functions",), FUNCTION_RUNNERS=1
    ):
        yield
        runner_pool().close()
    runner_pool.cache_clear()


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld)


def _look_up(world: GatewayWorld, run: dict[str, Any], order: str = "ord_0001", **more: Any) -> Any:
    body = {
        "run_id": run["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": order},
        **more,
    }
    return world.post(CALLS, body)


def _closing(**applies_to: Any) -> dict[str, Any]:
    """A draft that denies one order and lets the rest be."""
    document = bundle(version="1.1.0")
    document["rules"].append(
        {
            "rule_id": "one_order_is_locked",
            "description": "Order 2 is before the court.",
            "applies_to": {"capability": "orders.lookup", **applies_to},
            "if": {"===": [{"var": "request.args.order_id"}, "ord_0002"]},
            "then": {"allow": False},
        }
    )
    return document


def _simulated(house: House, **body: Any) -> Any:
    return caller(house, "author").post("policies/simulate", body)


@pytest.mark.proves("C4")
def test_what_a_call_brought_is_put_together_as_it_was(world: GatewayWorld) -> None:
    run = world.open_run(context={"customer_id": "c1"})
    result = _look_up(world, run).json()
    (recorded,) = recorded_policy_inputs(world.tenant_id, 5)
    assert recorded.tool_call_id == result["tool_call_id"]
    assert recorded.decision_id == result["decision_id"]
    assert (recorded.capability_id, recorded.agent_id) == ("orders.lookup", world.agent.agent_id)
    assert recorded.document is not None
    assert recorded.document["request"] == {
        "args": {"order_id": "ord_0001"},
        "context": {"customer_id": "c1"},
    }
    record = rows_of(tenant_id=world.tenant_id, decision_id=recorded.decision_id)[0]
    inputs = read_inputs(recorded.document).document()
    hidden = {**inputs, "request": {**inputs["request"], "args": record["args_commitment"]}}
    assert digest(hidden) == record["policy_decision"]["inputs_hash"]


@pytest.mark.proves("C4")
def test_the_draft_is_shown_to_change_exactly_the_calls_it_changes(world: GatewayWorld) -> None:
    run = world.open_run()
    for order in ("ord_0001", "ord_0002", "ord_0003"):
        assert _look_up(world, run, order).status_code == 200
    answer = _simulated(world.house, bundle=_closing(), last_n=10).json()
    assert (answer["total"], answer["changed"], answer["left_out"]) == (3, 1, 0)
    third, second, first = answer["results"]
    assert first["differences"] == third["differences"] == []
    assert {item["member"] for item in second["differences"]} >= {"allowed", "matched_rule_ids"}
    assert second["published"]["allowed"] is True
    assert second["candidate"]["reason"].startswith("policy.denied_by_rule")
    assert "ord_0002" not in str(second), "a simulation shows decisions, not arguments"


@pytest.mark.proves("C4")
def test_refusals_of_policy_are_decided_again_and_earlier_refusals_are_not(
    world: GatewayWorld,
) -> None:
    run = world.open_run()
    assert _look_up(world, run, capability_id="orders.absent").status_code == 404
    assert _look_up(world, run, order="nonsense").status_code == 422
    assert _look_up(world, run, approval_mode_requested="network").status_code == 403
    (refused,) = recorded_policy_inputs(world.tenant_id, 10)
    assert refused.tool_call_id == ""
    assert refused.document is not None
    decision = evaluate(read_inputs(refused.document), [])
    assert decision.allowed is False


def test_only_the_last_are_asked_newest_first_a_page_at_a_time(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.open_run()
    made = [_look_up(world, run, f"ord_000{n}").json()["decision_id"] for n in range(1, 6)]
    monkeypatch.setattr("gateway.policy_history.AT_ONCE", 2)
    asked = [item.decision_id for item in recorded_policy_inputs(world.tenant_id, 3)]
    assert asked == made[:1:-1]
    everything = [item.decision_id for item in recorded_policy_inputs(world.tenant_id, 100)]
    assert everything == made[::-1]


@pytest.mark.proves("A5")
def test_another_tenants_calls_are_not_there(world: GatewayWorld) -> None:
    _look_up(world, world.open_run())
    assert list(recorded_policy_inputs(House().tenant_id, 10)) == []


def test_what_was_erased_or_is_no_longer_trusted_is_counted_and_left_out(
    world: GatewayWorld,
) -> None:
    run = world.open_run()
    erased = _look_up(world, run, "ord_0001").json()["decision_id"]
    _look_up(world, run, "ord_0002")
    Payload.objects.filter(decision_id=erased, kind="args").update(sealed=None, erased_at=utcnow())
    answer = _simulated(world.house, bundle=_closing(), last_n=10).json()
    assert (answer["total"], answer["changed"], answer["left_out"]) == (1, 1, 1)
    with triggers_asleep(connection):
        AdapterVersion.objects.filter(tenant_id=world.tenant_id).update(envelope={})
    answer = _simulated(world.house, bundle=_closing(), last_n=10).json()
    assert (answer["total"], answer["left_out"]) == (0, 2)


def test_statements_do_not_grow_with_the_calls(world: GatewayWorld) -> None:
    run = world.open_run()
    _look_up(world, run)
    counts = []
    for more in (0, 4):
        for n in range(more):
            _look_up(world, run, f"ord_000{n}")
        with CaptureQueriesContext(
            connection,
        ) as asked:
            list(recorded_policy_inputs(world.tenant_id, 50))
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 7


@pytest.mark.parametrize("count", [0, 1001, -1, "many"])
def test_the_number_of_calls_is_bounded(world: GatewayWorld, count: Any) -> None:
    assert _simulated(world.house, bundle=bundle(), last_n=count).status_code == 422


# --- the page ------------------------------------------------------------------------------------
def _page(world: GatewayWorld, **posted: str) -> Any:
    browser = browser_of(world.house.user("admin"), world.house.tenant)
    return browser.post(SIMULATOR, {"action": "recorded", **posted})


@pytest.fixture
def drafted(world: GatewayWorld) -> GatewayWorld:
    """The draft that the page offers first."""
    policy_walk(world.house).draft(_closing())
    return world


@pytest.mark.proves("C4")
def test_the_page_lists_what_changes_with_links_and_folds_what_does_not(
    drafted: GatewayWorld,
) -> None:
    run = drafted.open_run()
    for order in ("ord_0001", "ord_0002"):
        _look_up(drafted, run, order)
    text = _page(drafted, last_n="10").content.decode()
    assert "Of 2 recorded calls 1 would be decided otherwise" in text
    assert "allowed → denied" in text
    assert "The rule one_order_is_locked denies this call." in text
    assert "1 call decided as before" in text
    call = ToolCall.objects.order_by("-tool_call_id").first()
    assert call is not None
    assert f"/admin/gateway/toolcall/{call.pk}/change/" in text


def test_the_page_says_so_when_nothing_changes_or_nothing_is_there(drafted: GatewayWorld) -> None:
    assert "There are no recorded calls" in _page(drafted, last_n="10").content.decode()
    _look_up(drafted, drafted.open_run(), "ord_0001")
    text = _page(drafted, last_n="10").content.decode()
    assert "would not have been noticed" in text


@pytest.mark.parametrize("wanted", ["0", "1001", "many", "1e3", "²"])
def test_the_page_refuses_a_number_out_of_bounds_at_its_field(
    drafted: GatewayWorld, wanted: str
) -> None:
    answer = _page(drafted, last_n=wanted)
    assert answer.status_code == 422
    assert "Give a whole number between 1 and 1000." in answer.content.decode()


def test_records_stay_as_they_are(world: GatewayWorld) -> None:
    _look_up(world, world.open_run())
    before = (DecisionRow.objects.count(), Payload.objects.count(), ToolCall.objects.count())
    _simulated(world.house, bundle=_closing(), last_n=10)
    after = (DecisionRow.objects.count(), Payload.objects.count(), ToolCall.objects.count())
    assert before == after
