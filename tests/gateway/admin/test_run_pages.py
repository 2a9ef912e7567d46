"""The run explorer: the list, the budget, what a run may call and what is refused to it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gateway.admin.budget import bars_of
from gateway.models import Run
from registry.services.kill_switches import throw_switch
from tests.factories import make_tenant
from tests.gateway.admin.rows import make_call, make_run, run_row
from tests.gateway.admin.visits import EVERYBODY, READERS, looked_up, page, visitor
from tests.gateway.world import INTENT, GatewayWorld

LIST = page("run_changelist")


@pytest.mark.parametrize("name", EVERYBODY)
def test_who_has_a_part_in_runs_sees_them_and_nobody_else(world: GatewayWorld, name: str) -> None:
    run = world.open_run()
    browser = visitor(world, name)
    seen = [browser.get(url).status_code for url in (LIST, page("run_change", run["run_id"]))]
    assert seen == [200, 200] if name in READERS else set(seen) <= {302, 403}


@pytest.mark.proves("C6", "B11")
def test_a_run_shows_who_for_whom_its_packs_pins_calls_and_manifest(world: GatewayWorld) -> None:
    call = looked_up(world)
    shown = visitor(world, "auditor").get(page("run_change", call.run_id)).text
    for words in (
        INTENT,
        world.agent.agent_id,
        "support_refund@1.0.0",
        "adp_orders@1.0.0",
        call.pk,
        "What it may call now",
        "perm_lookup",
        "notes.add",
    ):
        assert words in shown, words


def test_what_is_switched_off_is_listed_with_the_reason(world: GatewayWorld) -> None:
    run = world.open_run()
    throw_switch(
        tenant_id=world.tenant_id,
        scope="capability",
        target_id="notes.add",
        reason="Notes leak <b>.",
        actor=world.house.actor("operator"),
    )
    shown = visitor(world, "operator").get(page("run_change", run["run_id"])).text
    assert "Named by its packs, and refused" in shown
    assert "capability.disabled" in shown
    assert "Notes leak &lt;b&gt;." in shown


def test_a_run_without_calls_says_so(world: GatewayWorld) -> None:
    run = world.open_run()
    shown = visitor(world, "operator").get(page("run_change", run["run_id"])).text
    assert "This run has called nothing yet." in shown


def test_a_run_whose_pack_was_withdrawn_still_has_a_page(world: GatewayWorld) -> None:
    run = make_run(world.house.tenant, packs=["gone@9.9.9"])
    answer = visitor(world, "operator").get(page("run_change", run.pk))
    assert answer.status_code == 200
    assert "was withdrawn" in answer.text


def test_without_runs_the_list_teaches(world: GatewayWorld) -> None:
    assert "No runs yet" in visitor(world, "operator").get(LIST).text


def test_a_run_of_another_tenant_is_as_good_as_absent(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    run = make_run(elsewhere.house.tenant, intent="their.business")
    operator = visitor(world, "operator")
    assert "their.business" not in operator.get(LIST).text
    assert operator.get(page("run_change", run.pk)).status_code == 404


@pytest.mark.parametrize("count", [2, 40])
def test_a_run_needs_as_many_statements_for_many_calls_as_for_few(
    world: GatewayWorld, count: int
) -> None:
    run = Run.objects.get(pk=world.open_run()["run_id"])
    for _ in range(count):
        make_call(run)
    operator = visitor(world, "operator")
    operator.get(page("run_change", run.pk))
    with CaptureQueriesContext(connection) as seen:
        operator.get(page("run_change", run.pk))
        operator.get(LIST)
    assert len(seen) <= 60, [query["sql"][:80] for query in seen]


# --- the budget -----------------------------------------------------------------------------------
@pytest.mark.proves("C10")
def test_the_bars_say_what_is_used_held_back_and_left(db: None) -> None:
    now = timezone.now()
    run = run_row(
        make_tenant(),
        max_calls=10,
        used_calls=9,
        max_cost_cents=1000,
        spent_cents=250,
        reserved_cents=500,
        max_wall_ms=60_000,
        waited_ms=30_000,
        created_at=now - timedelta(seconds=45),
        expires_at=now + timedelta(seconds=45),
    )
    calls, cost, wall, left = bars_of(run, now)
    assert (calls.used, calls.tone, calls.said) == (90, "close", "9 of 10 used")
    assert (cost.used, cost.held, cost.held_end) == (25, 50, 75)
    assert cost.said == "2.50 spent and 5.00 reserved, of 10.00"
    assert (wall.used, wall.tone) == (25, "fine")
    assert "30 s of waiting for people not counted" in wall.said
    assert (left.used, left.said) == (50, "45 s left")


def test_a_spent_budget_is_over_and_never_beyond_the_bar(db: None) -> None:
    now = timezone.now()
    run = run_row(
        make_tenant(),
        max_calls=3,
        used_calls=3,
        max_cost_cents=0,
        max_wall_ms=1,
        created_at=now - timedelta(hours=2),
        expires_at=now - timedelta(hours=1),
    )
    bars = bars_of(run, now)
    assert [bar.used for bar in bars] == [100, 0, 100, 100]
    assert [bar.tone for bar in bars] == ["over"] * 4
    assert bars[3].said == "over"
