"""Why was this refused, and what would allow it: the list and the page, on real refusals."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gateway.admin import refusals
from registry.services.kill_switches import lift_switch, throw_switch
from tests.gateway.admin.rows import make_refusal, make_run
from tests.gateway.admin.visits import (
    EVERYBODY,
    READERS,
    VALUE_READERS,
    looked_up,
    page,
    propose,
    visitor,
)
from tests.gateway.world import GatewayWorld

LIST = page("refusals")


def _refused(world: GatewayWorld, **changes: Any) -> str:
    body: dict[str, Any] = {"capability": "orders.lookup", "args": {"order_id": "nonsense"}}
    answer = propose(world, **(body | changes))
    assert answer["error"], answer
    return str(answer["decision_id"])


def _page(world: GatewayWorld, decision_id: str, name: str = "operator") -> str:
    answer = visitor(world, name).get(page("refusal", decision_id))
    assert answer.status_code == 200
    return str(answer.text)


# --- who sees it ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EVERYBODY)
def test_readers_see_refusals_and_nobody_else(world: GatewayWorld, name: str) -> None:
    decision_id = _refused(world)
    browser = visitor(world, name)
    seen = {browser.get(url).status_code for url in (LIST, page("refusal", decision_id))}
    assert seen == {200} if name in READERS else seen <= {302, 403}


@pytest.mark.parametrize("name", READERS)
def test_arguments_are_shown_only_to_those_who_may_read_them(
    world: GatewayWorld, name: str
) -> None:
    shown = _page(world, _refused(world, capability="orders.delete"), name)
    assert ("nonsense" in shown) is (name in VALUE_READERS)


def test_refusals_of_another_tenant_are_as_good_as_absent(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    theirs = make_refusal(make_run(elsewhere.house.tenant, intent="their.business"))
    operator = visitor(world, "operator")
    assert theirs not in operator.get(LIST).text
    assert operator.get(page("refusal", theirs)).status_code == 404
    looked = operator.get(LIST, {"decision": theirs})
    assert looked.status_code == 200
    assert "There is no decision of that id in this tenant" in looked.text


# --- explaining -----------------------------------------------------------------------------------
@pytest.mark.proves("C13")
def test_arguments_off_the_schema_are_explained(world: GatewayWorld) -> None:
    shown = _page(world, _refused(world))
    assert "The arguments do not fit the capability&#x27;s input schema." in shown
    assert "args.schema" in shown
    assert "said no" in shown


@pytest.mark.proves("B10")
def test_a_capability_nobody_permits_is_explained_with_its_pack(world: GatewayWorld) -> None:
    shown = _page(world, _refused(world, capability="payments.issue_refund", args={}))
    assert "No Context Pack of the run permits this capability." in shown
    assert "Read the run&#x27;s tool manifest" in shown
    assert "role support_agent" in shown


@pytest.mark.proves("B19")
def test_a_kill_switch_is_named_and_linked_until_it_is_lifted(world: GatewayWorld) -> None:
    run = world.open_run()
    switch = throw_switch(
        tenant_id=world.tenant_id,
        scope="adapter",
        target_id="adp_orders",
        reason="Under attack.",
        actor=world.house.actor("operator"),
    )
    decision_id = _refused(world, run=run, args={"order_id": "ord_0001"})
    stopped = _page(world, decision_id)
    assert "Under attack." in stopped
    assert f"/admin/registry/killswitch/{switch.pk}/change/" in stopped
    lift_switch(switch_id=switch.pk, actor=world.house.actor("operator"), reason="It is over.")
    assert "the switch that stopped it is lifted" in _page(world, decision_id)


@pytest.mark.proves("C10")
def test_a_spent_budget_is_explained_with_its_numbers(world: GatewayWorld) -> None:
    run = world.open_run(run_budget={"max_calls": 1})
    looked_up(world, run=run)
    shown = _page(world, _refused(world, run=run, args={"order_id": "ord_0002"}))
    assert "The run has used up its budget." in shown
    assert "Calls: 1 of 1 used." in shown
    assert page("run_change", run["run_id"]) in shown


@pytest.mark.proves("C9")
def test_a_missing_key_is_explained(world: GatewayWorld) -> None:
    shown = _page(world, _refused(world, capability="notes.add", args={"text": "x"}))
    assert "brings no idempotency key" in shown


def test_a_run_of_somebody_else_is_explained_without_a_run_to_open(world: GatewayWorld) -> None:
    nobody = {"run_id": "run_00000000000000000000000000"}
    shown = _page(world, _refused(world, run=nobody))
    assert "There is no such run of this caller." in shown


def test_a_failed_call_is_explained_too(world: GatewayWorld) -> None:
    call = looked_up(world, "ord_0666")
    shown = _page(world, call.decision_id)
    assert "Why did this fail?" in shown
    assert "something else than its reviewed contract says" in shown
    assert page("toolcall_change", call.pk) in shown


def test_a_call_that_went_well_has_no_refusal_page(world: GatewayWorld) -> None:
    call = looked_up(world)
    assert visitor(world, "operator").get(page("refusal", call.decision_id)).status_code == 404


def test_a_hostile_name_is_shown_as_text(world: GatewayWorld) -> None:
    hostile = "<img src=x>\u202e.lookup"
    decision_id = _refused(world, capability=hostile, args={"<b>": "\u200b"})
    for shown in (_page(world, decision_id), visitor(world, "operator").get(LIST).text):
        assert "<img src=x>" not in shown
        assert "\u202e" not in shown
        assert "⟨U+202E⟩" in shown


# --- the list -------------------------------------------------------------------------------------
def test_the_list_says_what_who_and_why(world: GatewayWorld) -> None:
    decision_id = _refused(world)
    shown = visitor(world, "auditor").get(LIST).text
    for words in ("orders.lookup", "args.schema", world.agent.agent_id, decision_id):
        assert words in shown


def test_without_refusals_the_page_teaches(world: GatewayWorld) -> None:
    assert "Nothing was refused yet" in visitor(world, "operator").get(LIST).text


@pytest.mark.parametrize("typed", ["decision", "call"])
def test_an_id_typed_in_leads_to_its_page(world: GatewayWorld, typed: str) -> None:
    call = looked_up(world, "ord_0404")
    words = call.decision_id if typed == "decision" else call.pk
    answer = visitor(world, "operator").get(LIST, {"decision": f" {words} "})
    assert (answer.status_code, answer["Location"]) == (302, page("refusal", call.decision_id))


def test_the_list_is_narrowed_by_code_capability_and_agent(world: GatewayWorld) -> None:
    run = make_run(world.house.tenant)
    schema, loop = make_refusal(run), make_refusal(run, code="loop.detected")
    other = make_refusal(make_run(world.house.tenant, agent_id="agent_other"))
    operator = visitor(world, "operator")

    def listed(**wanted: str) -> set[str]:
        shown = operator.get(LIST, wanted).text
        return {name for name in (schema, loop, other) if name in shown}

    assert listed() == {schema, loop, other}
    assert listed(code="loop.detected") == {loop}
    assert listed(code="args.schema") == {schema, other}
    assert listed(agent="agent_other") == {other}
    assert listed(agent="agent_other", code="loop.detected") == set()
    assert listed(capability="notes.add") == {schema, loop, other}
    assert listed(capability="notes.ad") == set()


def test_a_code_in_the_agents_own_words_is_not_taken_for_the_code(world: GatewayWorld) -> None:
    run = make_run(world.house.tenant, intent='"error":{"code":"loop.detected"')
    forged = make_refusal(run)
    shown = visitor(world, "operator").get(LIST, {"code": "loop.detected"}).text
    assert forged not in shown


def test_older_refusals_are_a_page_further(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "PER_PAGE", 2)
    run = make_run(world.house.tenant)
    made = [make_refusal(run) for _ in range(5)]
    operator, seen, address = visitor(world, "operator"), [], LIST
    for _ in range(3):
        answer = operator.get(address)
        seen.append({name for name in made if name in answer.text})
        address = LIST + answer.context["next_url"]
    assert seen == [set(made[3:]), set(made[1:3]), {made[0]}]


def test_a_rare_code_is_found_however_old_it_is(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "PER_PAGE", 2)
    run = make_run(world.house.tenant)
    rare = make_refusal(run, code="loop.detected")
    others = [make_refusal(run) for _ in range(4)]
    answer = visitor(world, "operator").get(LIST, {"code": "loop.detected"})
    assert rare in answer.text
    assert not [name for name in others if name in answer.text]


def test_a_flood_is_one_line_with_its_count(world: GatewayWorld) -> None:
    make_refusal(make_run(world.house.tenant), repeat_count=41)
    assert "41 times more" in visitor(world, "operator").get(LIST).text


@pytest.mark.parametrize("count", [2, 30])
def test_the_list_needs_as_many_statements_for_many_rows_as_for_few(
    world: GatewayWorld, count: int
) -> None:
    run = make_run(world.house.tenant)
    made = [make_refusal(run) for _ in range(count)]
    operator = visitor(world, "operator")
    with CaptureQueriesContext(connection) as seen:
        operator.get(LIST)
    assert len(seen) <= 16, [query["sql"][:80] for query in seen]
    with CaptureQueriesContext(connection) as seen:
        operator.get(page("refusal", made[0]))
    assert len(seen) <= 45, [query["sql"][:80] for query in seen]
