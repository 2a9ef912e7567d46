"""The call explorer: the list, one call, who sees what of it, cancelling."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEvent, Payload
from gateway.admin.call_timeline import moments_of
from gateway.models import ToolCall
from tests.gateway.admin.rows import TRACE, make_call, make_run
from tests.gateway.admin.visits import (
    EVERYBODY,
    READERS,
    SETTLERS,
    VALUE_READERS,
    looked_up,
    note,
    page,
    unknown_outcome,
    visitor,
)
from tests.gateway.world import GatewayWorld

LIST = page("toolcall_changelist")
HOSTILE = "<script>alert(1)</script>\u202efdp.exe"


def _one(call: ToolCall) -> str:
    return page("toolcall_change", call.pk)


# --- the list -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EVERYBODY)
def test_who_has_a_part_in_calls_sees_them_and_nobody_else(world: GatewayWorld, name: str) -> None:
    call = looked_up(world)
    seen = [visitor(world, name).get(url).status_code for url in (LIST, _one(call))]
    assert seen == [200, 200] if name in READERS else set(seen) <= {302, 403}


def test_the_list_shows_state_mode_agent_and_error(world: GatewayWorld) -> None:
    looked_up(world)
    looked_up(world, "ord_0404")
    shown = visitor(world, "operator").get(LIST).text
    for words in ("orders.lookup", "Done", "Failed", "read only", "ORDER_NOT_FOUND", "adp_orders@"):
        assert words in shown
    assert world.agent.agent_id in shown


def test_a_queued_write_says_what_it_waits_for(world: GatewayWorld) -> None:
    note(world, "hello", worked=False)
    shown = visitor(world, "operator").get(LIST).text
    assert "Waiting for a worker" in shown
    assert "queued, due" in shown


def test_calls_are_found_by_every_id_they_go_by(world: GatewayWorld) -> None:
    call, other = looked_up(world), looked_up(world)
    operator = visitor(world, "operator")
    for words in (call.pk, call.decision_id, call.run_id, call.run.trace_id, f" {call.pk} "):
        found = {row.pk for row in operator.get(LIST, {"q": words}).context["cl"].result_list}
        assert call.pk in found
        assert other.pk not in found
    assert list(operator.get(LIST, {"q": "orders"}).context["cl"].result_list) == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"state": "ok"}, ["ok"]),
        ({"state": "open"}, ["queued", "unknown_outcome"]),
        ({"state": "failed"}, ["failed"]),
        ({"attention": "unknown"}, ["unknown_outcome"]),
        ({"attention": "dead"}, ["dead"]),
        ({"capability": "notes.add"}, ["queued"]),
        ({"adapter": "adp_other"}, ["failed"]),
        ({"mode": "destructive"}, ["unknown_outcome"]),
        ({"created": "hour"}, ["ok", "queued", "failed", "unknown_outcome", "dead"]),
        ({"created_at__lt": "2000-01-01T00:00:00Z"}, []),
    ],
    ids=str,
)
def test_filters_narrow_the_list(
    world: GatewayWorld, wanted: dict[str, str], expected: list[str]
) -> None:
    run = make_run(world.house.tenant)
    rows = {
        "ok": make_call(run, state="ok", capability_id="x.ok"),
        "queued": make_call(run, state="queued", capability_id="notes.add"),
        "failed": make_call(run, state="failed", capability_id="x.f", adapter_id="adp_other"),
        "unknown_outcome": make_call(
            run, state="unknown_outcome", capability_id="x.u", mode_effective="destructive"
        ),
        "dead": make_call(
            run, state="rejected", capability_id="x.d", dead_letter=True, agent_id="agent_other"
        ),
    }
    shown = visitor(world, "auditor").get(LIST, wanted).context["cl"].result_list
    assert {row.pk for row in shown} == {rows[name].pk for name in expected}


def test_the_list_is_narrowed_to_one_agent(world: GatewayWorld) -> None:
    mine = looked_up(world)
    make_call(make_run(world.house.tenant, agent_id="agent_other"))
    found = visitor(world, "operator").get(LIST, {"agent": world.agent.agent_id})
    assert [row.pk for row in found.context["cl"].result_list] == [mine.pk]


def test_without_calls_the_list_teaches(world: GatewayWorld) -> None:
    shown = visitor(world, "operator").get(LIST).text
    assert "No calls yet" in shown
    assert "Refused calls are under Refusals" in shown


@pytest.mark.parametrize("count", [3, 30])
def test_the_list_needs_as_many_statements_for_many_rows_as_for_few(
    world: GatewayWorld, count: int
) -> None:
    run = make_run(world.house.tenant, user_id=world.house.user("service").user_id)
    for _ in range(count):
        make_call(run)
    operator = visitor(world, "operator")
    with CaptureQueriesContext(connection) as seen:
        shown = operator.get(LIST)
    assert world.house.user("service").username in shown.text
    assert len(seen) <= 20, [query["sql"][:80] for query in seen]


# --- one call -------------------------------------------------------------------------------------
@pytest.mark.proves("C2", "E1")
def test_a_call_shows_its_way_both_envelopes_and_its_record(world: GatewayWorld) -> None:
    call = looked_up(world)
    shown = visitor(world, "auditor").get(_one(call)).text
    for words in (
        "What happened",
        "Approved",
        "Executed",
        "Arguments",
        "ord_0001",
        "delivered",
        "contextos.tool_call.v1",
        "contextos.tool_result.v1",
        "contextos.decision_record.v1",
        "refunds@1.0.0",
        "support_refund@1.0.0",
        call.run.trace_id,
        page("run_change", call.run_id),
    ):
        assert words in shown, words


@pytest.mark.parametrize("name", READERS)
def test_values_are_shown_only_to_those_who_may_read_them(world: GatewayWorld, name: str) -> None:
    call = looked_up(world, "ord_7777")
    shown = visitor(world, name).get(_one(call)).text
    assert ("ord_7777" in shown) is (name in VALUE_READERS)
    assert ("Arguments and results are shown to" in shown) is (name not in VALUE_READERS)


def test_what_an_agent_wrote_is_escaped_and_nothing_in_it_is_invisible(
    world: GatewayWorld,
) -> None:
    run = make_run(world.house.tenant, agent_id="agent_\u202ex", intent=HOSTILE)
    call = make_call(run, args={"text": HOSTILE}, capability_id="a.b\u200b<b>", error_code=HOSTILE)
    operator = visitor(world, "operator")
    for url in (LIST, _one(call), page("run_change", run.pk), page("run_changelist")):
        shown = operator.get(url).text
        assert "<script>alert" not in shown
        assert "\u202e" not in shown
        assert "\u200b" not in shown
        assert "⟨U+202E⟩" in shown


def test_secrets_are_masked_by_name_and_by_schema(world: GatewayWorld) -> None:
    run = make_run(world.house.tenant)
    call = make_call(run, args={"password": "hunter2222", "note": "fine", "nested": {"pin": "x"}})
    shown = visitor(world, "operator").get(_one(call)).text
    assert "hunter2222" not in shown
    assert "fine" in shown
    assert "masked" in shown


def test_an_erased_value_says_so_and_the_page_still_opens(world: GatewayWorld) -> None:
    call = looked_up(world)
    Payload.objects.filter(pk=call.args_payload).update(sealed=None, erased_at=call.created_at)
    answer = visitor(world, "operator").get(_one(call))
    assert answer.status_code == 200
    assert "ord_0001" not in answer.text.split("Result")[0]


def test_the_way_of_a_call_ends_with_where_it_stands_now(world: GatewayWorld) -> None:
    call = note(world, "hello", worked=False)
    from audit.decisions import rows_of

    moments = moments_of(call, rows_of(tenant_id=call.tenant_id, decision_id=call.decision_id))
    assert "Approved" in moments[0].label
    assert "Waiting for a worker" in moments[-1].label


def test_a_call_of_another_tenant_is_as_good_as_absent(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    call = make_call(make_run(elsewhere.house.tenant), capability_id="secret.capability")
    operator = visitor(world, "operator")
    assert "secret.capability" not in operator.get(LIST).text
    for address in (_one(call), page("toolcall_cancel", call.pk)):
        assert operator.get(address).status_code == 404
        assert operator.post(address, {"reason": "Mine now."}).status_code in (403, 404)
    assert ToolCall.objects.get(pk=call.pk).state == call.state


@pytest.mark.parametrize("name", READERS)
def test_a_page_of_one_call_needs_few_statements(world: GatewayWorld, name: str) -> None:
    call = looked_up(world)
    browser = visitor(world, name)
    browser.get(_one(call))
    with CaptureQueriesContext(connection) as seen:
        browser.get(_one(call))
    assert len(seen) <= 40, [query["sql"][:80] for query in seen]


# --- cancelling -----------------------------------------------------------------------------------
@pytest.mark.proves("C14")
@pytest.mark.parametrize("name", SETTLERS)
def test_a_waiting_call_is_cancelled_with_a_reason(world: GatewayWorld, name: str) -> None:
    call = note(world, "hello", worked=False)
    browser = visitor(world, name)
    assert page("toolcall_cancel", call.pk) in browser.get(_one(call)).text
    asked = browser.get(page("toolcall_cancel", call.pk))
    assert "nothing is called" in asked.text
    done = browser.post(page("toolcall_cancel", call.pk), {"reason": "Wrong customer."})
    assert (done.status_code, done["Location"]) == (302, _one(call))
    call.refresh_from_db()
    assert call.state == "cancelled"
    event = AuditEvent.objects.get(action="call.cancel_asked")
    assert event.actor_id == world.house.user(name).user_id
    assert "Wrong customer." in browser.get(_one(call)).text


@pytest.mark.parametrize("reason", ["", "   "])
def test_cancelling_without_a_reason_changes_nothing(world: GatewayWorld, reason: str) -> None:
    call = note(world, "hello", worked=False)
    answer = visitor(world, "operator").post(page("toolcall_cancel", call.pk), {"reason": reason})
    assert answer.status_code == 422
    assert "Say in a sentence why" in answer.text
    assert ToolCall.objects.get(pk=call.pk).state == "queued"


@pytest.mark.parametrize("name", ["author", "reviewer", "auditor"])
def test_readers_can_not_cancel(world: GatewayWorld, name: str) -> None:
    call = note(world, "hello", worked=False)
    browser = visitor(world, name)
    assert "Cancel the call" not in browser.get(_one(call)).text
    for attempt in (browser.get, browser.post):
        answer: Any = attempt(page("toolcall_cancel", call.pk), {"reason": "Because."})
        assert answer.status_code == 403
    assert ToolCall.objects.get(pk=call.pk).state == "queued"


def test_what_has_ended_offers_no_cancelling_and_takes_none(world: GatewayWorld) -> None:
    call = note(world, "hello")
    operator = visitor(world, "operator")
    assert "Cancel the call" not in operator.get(_one(call)).text
    late = operator.post(page("toolcall_cancel", call.pk), {"reason": "Too late."})
    assert late.status_code == 422
    assert "has ended" in late.text


def test_an_unknown_outcome_leads_to_the_reconcile_page(world: GatewayWorld) -> None:
    call = unknown_outcome(world)
    shown = visitor(world, "operator").get(_one(call)).text
    assert page("reconcile_call", call.pk) in shown
    assert "Cancel the call" not in shown


def test_the_trace_of_a_run_is_not_shared_between_tenants(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    mine = make_call(make_run(world.house.tenant))
    make_call(make_run(elsewhere.house.tenant))
    found = visitor(world, "operator").get(LIST, {"q": TRACE}).context["cl"].result_list
    assert [row.pk for row in found] == [mine.pk]
