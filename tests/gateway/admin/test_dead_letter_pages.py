"""Dead letters, the front page, the menu and the global search."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from gateway.admin import keyset
from gateway.admin.dead_letters import _tried
from tests.gateway.admin.rows import make_call, make_refusal, make_run
from tests.gateway.admin.visits import EVERYBODY, READERS, looked_up, page, visitor
from tests.gateway.world import GatewayWorld

LIST = page("dead_letters")


@pytest.mark.parametrize("name", EVERYBODY)
def test_readers_see_dead_letters_and_nobody_else(world: GatewayWorld, name: str) -> None:
    status = visitor(world, name).get(LIST).status_code
    assert status == 200 if name in READERS else status in (302, 403)


@pytest.mark.proves("C12")
def test_a_dead_letter_says_what_was_tried_and_what_to_do(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    run = make_run(world.house.tenant)
    call = make_call(
        run,
        state="failed",
        dead_letter=True,
        attempts=3,
        losses=1,
        error_code="function.timeout",
        capability_id="a.b<b>\u202e",
    )
    make_call(run, state="failed", capability_id="not.dead")
    make_call(make_run(elsewhere.house.tenant), dead_letter=True, capability_id="their.call")
    shown = visitor(world, "operator").get(LIST).text
    for words in (call.pk, "3 attempts, 1 lost worker", "function.timeout", "a.b&lt;b&gt;⟨U+202E⟩"):
        assert words in shown, words
    assert "The function did not answer in time and was killed." in shown
    assert "not.dead" not in shown
    assert "their.call" not in shown


def test_without_dead_letters_the_page_says_what_they_are(world: GatewayWorld) -> None:
    assert "No dead letters" in visitor(world, "operator").get(LIST).text


def test_what_was_tried_is_counted_in_words(world: GatewayWorld) -> None:
    run = make_run(world.house.tenant)
    assert _tried(make_call(run, attempts=0)) == "nothing was started"
    assert _tried(make_call(run, attempts=1, polls=2)) == "1 attempt, 2 polls"


def test_older_dead_letters_are_a_page_further(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyset, "PER_PAGE", 2)
    run = make_run(world.house.tenant)
    made = [make_call(run, dead_letter=True).pk for _ in range(3)]
    operator = visitor(world, "operator")
    first = operator.get(LIST)
    assert [row["id"] for row in first.context["rows"]] == [made[2], made[1]]
    second = operator.get(LIST + first.context["page"].next_url)
    assert [row["id"] for row in second.context["rows"]] == [made[0]]
    assert second.context["page"].next_url == ""


@pytest.mark.parametrize("count", [2, 30])
def test_the_list_needs_as_many_statements_for_many_rows_as_for_few(
    world: GatewayWorld, count: int
) -> None:
    run = make_run(world.house.tenant)
    for _ in range(count):
        make_call(run, dead_letter=True)
    operator = visitor(world, "operator")
    with CaptureQueriesContext(connection) as seen:
        operator.get(LIST)
    assert len(seen) <= 16, [query["sql"][:80] for query in seen]


# --- around the pages -----------------------------------------------------------------------------
def test_the_menu_has_the_five_pages_for_readers_only(world: GatewayWorld) -> None:
    names = ["Runs", "Calls", "Refusals", "Reconcile", "Dead letters"]
    for name, expected in (("operator", names), ("auditor", names), ("approver", [])):
        groups = visitor(world, name).get(reverse("admin:index")).context["sidebar_navigation"]
        found = [group["items"] for group in groups if group["title"] == "Gateway"]
        titles = [item["title"] for items in found for item in items]
        assert [title for title in titles if title in names] == expected


def test_the_front_page_shows_dead_letters_as_failing(world: GatewayWorld) -> None:
    make_call(make_run(world.house.tenant), dead_letter=True, capability_id="given.up")
    assert "given.up" in visitor(world, "operator").get(reverse("admin:index")).text


def test_the_first_step_is_done_with_the_first_call(world: GatewayWorld) -> None:
    step = "Make your first governed call"
    front = visitor(world, "operator").get(reverse("admin:index"))
    rows = {r.text: r.done for p in front.context["front_start"].panels for r in p.rows}
    assert rows[step] is False
    looked_up(world)
    after = visitor(world, "operator").get(reverse("admin:index")).context["front_start"]
    found = {r.text: r.done for p in after.panels for r in p.rows} if after else {step: True}
    assert found[step] is True


def test_the_global_search_finds_runs_calls_and_refusals_of_this_tenant(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    run = make_run(world.house.tenant)
    call, refusal = make_call(run), make_refusal(run)
    theirs = make_call(make_run(elsewhere.house.tenant))
    operator = visitor(world, "operator")
    found = {
        run.pk: page("run_change", run.pk),
        call.pk: page("toolcall_change", call.pk),
        call.decision_id: page("toolcall_change", call.pk),
        refusal: page("refusal", refusal),
    }
    for words, address in found.items():
        assert address in operator.get(reverse("admin:find"), {"q": words}).text
    for words in (theirs.pk, theirs.decision_id, theirs.run_id):
        assert "Nothing found" in operator.get(reverse("admin:find"), {"q": words}).text
    assert (
        "Runs and calls"
        not in visitor(world, "approver").get(reverse("admin:find"), {"q": call.pk}).text
    )
