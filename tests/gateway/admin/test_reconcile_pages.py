"""Unknown outcomes: the queue, what is known, and the form by which a person settles them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from audit.decisions import rows_of
from audit.models import AuditEvent
from gateway.models import Run, ToolCall
from gateway.panels import unknown_count
from tests.gateway.admin.rows import make_call, make_run
from tests.gateway.admin.visits import (
    EVERYBODY,
    READERS,
    SETTLERS,
    VALUE_READERS,
    page,
    unknown_outcome,
    visitor,
)
from tests.gateway.world import GatewayWorld

QUEUE = page("reconcile")
EVIDENCE = "Found it in the ledger at 12:03."


def _settle(world: GatewayWorld, call: ToolCall, name: str = "operator", **posted: str) -> Any:
    values = {"outcome": "happened", "evidence": EVIDENCE, "output": ""}
    return visitor(world, name).post(page("reconcile_call", call.pk), values | posted)


def _state(call: ToolCall) -> str:
    return str(ToolCall.objects.get(pk=call.pk).state)


# --- the queue ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EVERYBODY)
def test_readers_see_the_queue_and_nobody_else(world: GatewayWorld, name: str) -> None:
    call = unknown_outcome(world)
    browser = visitor(world, name)
    seen = {browser.get(url).status_code for url in (QUEUE, page("reconcile_call", call.pk))}
    assert seen == {200} if name in READERS else seen <= {302, 403}


def test_the_queue_is_oldest_first_and_of_this_tenant_only(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    run = make_run(world.house.tenant)
    first = make_call(run, state="unknown_outcome")
    second = make_call(run, state="unknown_outcome")
    make_call(run, state="ok")
    theirs = make_call(make_run(elsewhere.house.tenant), state="unknown_outcome")
    answer = visitor(world, "operator").get(QUEUE)
    assert [row["id"] for row in answer.context["rows"]] == [first.pk, second.pk]
    assert theirs.pk not in answer.text
    assert visitor(world, "operator").get(page("reconcile_call", theirs.pk)).status_code == 404


def test_an_empty_queue_says_what_it_is_for(world: GatewayWorld) -> None:
    assert "No call has an unknown outcome" in visitor(world, "operator").get(QUEUE).text


def test_the_menu_counts_what_waits(world: GatewayWorld) -> None:
    run = make_run(world.house.tenant)
    for _ in range(3):
        make_call(run, state="unknown_outcome")
    request = visitor(world, "operator").get(QUEUE).wsgi_request
    assert unknown_count(request) == "3"
    front = visitor(world, "operator").get(reverse("admin:index")).text
    assert "Outcomes to reconcile" in front


@pytest.mark.parametrize("count", [2, 30])
def test_the_queue_needs_as_many_statements_for_many_rows_as_for_few(
    world: GatewayWorld, count: int
) -> None:
    run = make_run(world.house.tenant)
    for _ in range(count):
        make_call(run, state="unknown_outcome")
    operator = visitor(world, "operator")
    with CaptureQueriesContext(connection) as seen:
        operator.get(QUEUE)
    assert len(seen) <= 16, [query["sql"][:80] for query in seen]


# --- what is known --------------------------------------------------------------------------------
def test_the_page_says_what_is_known(world: GatewayWorld) -> None:
    call = unknown_outcome(world)
    shown = visitor(world, "operator").get(page("reconcile_call", call.pk)).text
    for words in ("ik_1", "does not deduplicate", "die after writing", "function.runner_died"):
        assert words in shown, words
    assert "Run again with the same key" not in shown


@pytest.mark.parametrize("name", READERS)
def test_arguments_and_form_are_for_those_who_may(world: GatewayWorld, name: str) -> None:
    call = unknown_outcome(world)
    shown = visitor(world, name).get(page("reconcile_call", call.pk)).text
    assert ("die after writing" in shown) is (name in VALUE_READERS)
    assert ('name="outcome"' in shown) is (name in SETTLERS)


# --- settling -------------------------------------------------------------------------------------
@pytest.mark.proves("C9", "E1")
def test_it_happened_ends_the_call_with_the_result_given(world: GatewayWorld) -> None:
    call = unknown_outcome(world)
    done = _settle(world, call, output='{"note_id": "note_ik_1"}')
    assert (done.status_code, done["Location"]) == (302, page("toolcall_change", call.pk))
    assert _state(call) == "ok"
    rows = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)
    assert [row["status"] for row in rows][-2:] == ["UNKNOWN", "EXECUTED"]
    event = AuditEvent.objects.get(action="call.reconciled")
    assert event.actor_id == world.house.user("operator").user_id
    assert EVIDENCE in event.text
    shown = visitor(world, "operator").get(page("toolcall_change", call.pk)).text
    assert f"A person found that it happened: {EVIDENCE}" in shown
    assert "Written by the person who settled the call." in shown
    assert "Written by the adapter." not in shown


def test_money_is_shown_as_reserved_only_until_the_call_is_settled(world: GatewayWorld) -> None:
    call = unknown_outcome(world)
    ToolCall.objects.filter(pk=call.pk).update(reserved_cents=10)
    Run.objects.filter(pk=call.run_id).update(reserved_cents=10)
    address = page("toolcall_change", call.pk)
    assert "0.10 reserved" in visitor(world, "operator").get(address).text
    _settle(world, call)
    assert "reserved" not in visitor(world, "operator").get(address).text


def test_it_did_not_happen_ends_the_call_as_failed(world: GatewayWorld) -> None:
    call = unknown_outcome(world)
    assert _settle(world, call, outcome="did_not_happen").status_code == 302
    assert _state(call) == "failed"
    shown = visitor(world, "operator").get(page("toolcall_change", call.pk)).text
    assert "outcome.did_not_happen" in shown


@pytest.mark.proves("C9")
def test_it_runs_again_with_the_same_key_where_the_adapter_deduplicates(
    world: GatewayWorld,
) -> None:
    call = unknown_outcome(world, deduplicates=True)
    shown = visitor(world, "operator").get(page("reconcile_call", call.pk)).text
    assert "Run again with the same key" in shown
    assert _settle(world, call, outcome="run_again").status_code == 302
    assert _state(call) == "queued"


def test_running_again_is_refused_where_it_could_do_it_twice(world: GatewayWorld) -> None:
    call = unknown_outcome(world)
    assert _settle(world, call, outcome="run_again").status_code == 422
    assert _state(call) == "unknown_outcome"


@pytest.mark.parametrize(
    ("posted", "said"),
    [
        ({"outcome": ""}, "Choose what you found out."),
        ({"evidence": ""}, "Say how you know"),
        ({"evidence": "yes"}, "Say a little more"),
        ({"evidence": "          "}, "Say how you know"),
        ({"output": "{broken"}, "Result, as JSON"),
        ({"output": "[1]"}, "Result, as JSON"),
        ({"output": '{"note_id": 7}'}, "note_id"),
        ({"output": '{"other": 1}'}, "note_id"),
        ({"outcome": "did_not_happen", "output": '{"note_id": "x"}'}, "Only a call that happened"),
    ],
    ids=str,
)
def test_a_form_filled_in_wrongly_settles_nothing_and_says_why(
    world: GatewayWorld, posted: dict[str, str], said: str
) -> None:
    call = unknown_outcome(world)
    answer = _settle(world, call, **posted)
    assert answer.status_code == 422
    assert said in answer.text
    assert 'role="alert"' in answer.text
    assert _state(call) == "unknown_outcome"


@pytest.mark.parametrize("name", ["author", "reviewer", "auditor"])
def test_readers_settle_nothing(world: GatewayWorld, name: str) -> None:
    call = unknown_outcome(world)
    assert _settle(world, call, name).status_code == 403
    assert _state(call) == "unknown_outcome"


def test_what_somebody_settled_meanwhile_is_not_settled_again(world: GatewayWorld) -> None:
    call = unknown_outcome(world)
    _settle(world, call, outcome="did_not_happen")
    again = _settle(world, call)
    assert again.status_code == 302
    assert _state(call) == "failed"


def test_a_call_of_another_tenant_is_not_settled_from_here(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    theirs = make_call(make_run(elsewhere.house.tenant), state="unknown_outcome")
    assert _settle(world, theirs).status_code == 404
    assert _state(theirs) == "unknown_outcome"
