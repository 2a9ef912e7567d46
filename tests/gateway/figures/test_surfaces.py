"""Dashboard, REST and Prometheus tell what the records say, and the same thing (E5)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEvent
from gateway.admin.dashboard_figures import percent
from gateway.figures.rollup import roll_step, roll_up
from gateway.models import FiguresCursor, Run, Tally, ToolCall
from tests.approvals.world import GateWorld
from tests.audit.logs import seal_all
from tests.factories import make_member, make_tenant, make_user_token
from tests.gateway.admin.visits import EVERYBODY, READERS, page, visitor
from tests.gateway.figures.traffic import Traffic, by_hand

METRICS = "/api/v1/metrics/capabilities"
BOARD = page("dashboard")
STATUSES = ("EXECUTED", "FAILED", "REJECTED", "EXPIRED", "CANCELLED")


def _asked(traffic: Traffic, query: str = "", name: str = "operator") -> Any:
    return traffic.world.get(f"{METRICS}{query}", token=traffic.token(name))


def _sample(text: str, name: str, **labels: str) -> float:
    """The sum of a scrape's samples that carry these labels."""
    found = 0.0
    for line in text.splitlines():
        match = re.fullmatch(rf"{name}\{{(.*)\}} (\S+)", line)
        if match:
            given = dict(re.findall(r'(\w+)="([^"]*)"', match[1]))
            if labels.items() <= given.items():
                found += float(match[2])
    return found


@pytest.mark.proves("E5")
def test_the_three_surfaces_agree_with_a_count_by_hand(traffic: Traffic) -> None:
    traffic.everything()
    tenant_id = traffic.world.tenant_id
    fresh = _asked(traffic).json()  # nothing is sealed or rolled up yet
    seal_all()
    half = _asked(traffic).json()
    while roll_step(tenant_id):
        pass
    rolled = _asked(traffic).json()
    moving = ("as_of", "sealing_lag_ms")
    for moved in (fresh, half, rolled):
        for name in moving:
            moved.pop(name)
    assert fresh == half == rolled
    expected = by_hand(tenant_id)
    assert {line["capability_id"] or "(none)" for line in rolled["results"]} == set(expected)
    shown = visitor(traffic.world, "operator").get(BOARD).context["lines"]
    scraped = Client().get("/metrics").text
    for line, row in zip(rolled["results"], shown, strict=True):
        name = line["capability_id"] or "(none)"
        sums = expected[name]
        assert {status: line[status.lower()] for status in STATUSES} == {
            status: sums[status] for status in STATUSES
        }
        total = sum(sums[status] for status in STATUSES)
        denied = sums["REJECTED"] + sums["EXPIRED"] + sums["CANCELLED"]
        assert line["decisions"] == total
        assert line["denied_per_1000"] == round(1000 * denied / total, 3)
        assert row["decisions"] == f"{total:,}"
        assert row["denied"] == f"{1000 * denied / total:,.1f}"
        assert line["mode_refused"] == sums["mode_refused"] == int(row["mode_refused"])
        assert line["mode_misclassified"] == sums["misclassified"] == int(row["misclassified"])
        assert line["approval_wait_ms"]["count"] == sums["waits"]
        assert line["key_conflicts"] == sums["conflicts"]
        labels = {"tenant": tenant_id, "capability": line["capability_id"] or ""}
        for status in STATUSES:
            counted = _sample(scraped, "contextos_decisions_total", status=status.lower(), **labels)
            assert counted == sums[status]
        for scrape, value in (
            ("contextos_mode_refusals_total", sums["mode_refused"]),
            ("contextos_mode_misclassifications_total", sums["misclassified"]),
            ("contextos_key_conflicts_total", sums["conflicts"]),
            ("contextos_call_duration_seconds_count", line["latency_ms"]["count"]),
            ("contextos_approval_wait_seconds_count", sums["waits"]),
        ):
            assert _sample(scraped, scrape, **labels) == value, scrape
        assert _sample(scraped, "contextos_approval_wait_seconds_sum", **labels) == pytest.approx(
            sums["wait_ms"] / 1000
        )


@pytest.mark.proves("E5")
def test_budget_use_is_the_same_on_the_dashboard_over_rest_and_in_a_scrape(
    traffic: Traffic,
) -> None:
    traffic.everything()
    tenant_id = traffic.world.tenant_id
    runs = list(Run.objects.filter(tenant_id=tenant_id))
    used, most = sum(run.used_calls for run in runs), sum(run.max_calls for run in runs)
    assert used > 0
    told = _asked(traffic).json()["budget"]
    assert (told["runs"], told["used_calls"], told["max_calls"]) == (len(runs), used, most)
    assert told["complete"] is True
    scraped = Client().get("/metrics").text
    for name, value in (("used_calls", used), ("max_calls", most)):
        assert _sample(scraped, f"contextos_run_budget_{name}", tenant=tenant_id) == value
    cards = visitor(traffic.world, "operator").get(BOARD).context["cards"]
    shown = next(card.value for card in cards if card.label == "Budget used")
    assert shown == percent(used / most)


@pytest.mark.proves("E5")
def test_what_everything_amounts_to_is_what_happened(traffic: Traffic) -> None:
    traffic.everything()
    results = {line["capability_id"]: line for line in _asked(traffic).json()["results"]}
    lookups, refunds, nameless = (
        results[name] for name in ("orders.lookup", "payments.issue_refund", None)
    )
    assert (lookups["executed"], lookups["failed"], lookups["rejected"]) == (4, 1, 4)
    assert lookups["success_rate"] == 0.8
    assert lookups["mode_misclassified"] == 1
    assert lookups["mode_refused"] == 1
    assert lookups["latency_ms"]["count"] == 5
    assert (refunds["executed"], refunds["rejected"], refunds["expired"]) == (1, 2, 1)
    assert (refunds["replays"], refunds["replays_equal"], refunds["key_conflicts"]) == (2, 2, 1)
    assert refunds["replay_correctness"] == 1.0
    assert refunds["approval_wait_ms"]["count"] == 3
    assert nameless["adapter_id"] is None
    assert nameless["rejected"] == 1


@pytest.mark.proves("E5")
def test_a_replay_that_differs_from_its_record_is_counted_and_told(traffic: Traffic) -> None:
    call = traffic.refund("ik_aaaaaaaaaaaaaaa1")
    ToolCall.objects.filter(pk=call.pk).update(
        result=call.result.replace('"attempts":1', '"attempts":2')
    )
    traffic.world.propose(key="ik_aaaaaaaaaaaaaaa1", run=traffic.run)
    roll_up()
    totals = _asked(traffic).json()["totals"]
    assert (totals["replays"], totals["replays_equal"]) == (1, 0)
    events = AuditEvent.objects.filter(action="call.replay_differed")
    assert [event.subject_id for event in events] == [call.pk]


def test_ranges_and_filters_keep_to_what_was_asked_for(traffic: Traffic) -> None:
    traffic.everything()
    only = _asked(traffic, "?capability=payments.issue_refund").json()
    assert [line["capability_id"] for line in only["results"]] == ["payments.issue_refund"]
    assert only["totals"]["executed"] == 1
    none = _asked(traffic, "?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z").json()
    assert none["results"] == []
    assert none["totals"]["success_rate"] is None
    hour = _asked(traffic, "?adapter=adp_orders").json()
    assert {line["adapter_id"] for line in hour["results"]} == {"adp_orders"}
    assert sum(point["executed"] for point in hour["points"]) == 4


@pytest.mark.parametrize(
    "query",
    [
        "?from=yesterday",
        "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
        "?from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z",
    ],
)
def test_a_range_that_is_none_is_refused_with_a_code(traffic: Traffic, query: str) -> None:
    answer = _asked(traffic, query)
    assert (answer.status_code, answer.json()["code"]) == (422, "figures.range_invalid")


def test_an_unknown_filter_is_refused(traffic: Traffic) -> None:
    assert _asked(traffic, "?adaptor=adp_orders").status_code == 400


def test_agents_and_people_without_a_part_get_no_figures(traffic: Traffic) -> None:
    assert traffic.world.get(METRICS).status_code == 403
    assert _asked(traffic, name="service").status_code == 403
    assert _asked(traffic, name="auditor").status_code == 200


def test_no_tenant_sees_the_figures_of_another(traffic: Traffic) -> None:
    traffic.everything()
    seal_all()
    roll_up()
    other = make_tenant("tenant_elsewhere")
    token = make_user_token(make_member(other, "operator"), other).token
    assert traffic.world.get(METRICS, token=token).json()["results"] == []


@pytest.mark.parametrize("name", EVERYBODY)
def test_readers_see_the_dashboard_and_nobody_else(world: GateWorld, name: str) -> None:
    seen = visitor(world, name).get(BOARD).status_code
    assert seen == 200 if name in READERS else seen in {302, 403}


def test_an_empty_dashboard_teaches(world: GateWorld) -> None:
    shown = visitor(world, "operator").get(BOARD).text
    assert "No decision ended in this time" in shown


@pytest.mark.parametrize(
    "query", ["?range=1h", "?range=7d", "?range=30d", "?since=2026-01-01T00:00"]
)
def test_every_range_can_be_chosen(traffic: Traffic, query: str) -> None:
    traffic.look_up()
    answer = visitor(traffic.world, "auditor").get(BOARD + query)
    assert answer.status_code == 200
    assert "orders.lookup" in answer.text


def test_an_end_alone_shows_the_day_before_it(traffic: Traffic) -> None:
    shown = visitor(traffic.world, "auditor").get(f"{BOARD}?until=2026-01-02T00:00").text
    assert "2026-01-01 00:00 to 2026-01-02 00:00 UTC" in shown


def test_a_range_that_ends_before_it_begins_is_told_at_its_field(world: GateWorld) -> None:
    query = "?since=2026-02-01T00:00&until=2026-01-01T00:00"
    answer = visitor(world, "operator").get(BOARD + query)
    assert answer.status_code == 422
    assert "The end lies before the start." in answer.text


def test_the_page_costs_few_queries_whatever_happened(traffic: Traffic) -> None:
    traffic.everything()
    seal_all()
    roll_up()
    browser = visitor(traffic.world, "operator")
    browser.get(BOARD)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        browser.get(BOARD + "?range=30d")
    own = [
        q["sql"] for q in seen.captured_queries if "gateway_" in q["sql"] or "audit_" in q["sql"]
    ]
    assert len(own) <= 12, own


def test_nobody_writes_while_pages_are_read(traffic: Traffic) -> None:
    traffic.everything()
    _asked(traffic)
    assert not FiguresCursor.objects.exists()
    assert not Tally.objects.exists()
