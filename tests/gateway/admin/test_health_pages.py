"""Adapter health: who sees what, breaker and terms by hand, figures, many rows (C12, C22)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.models import AuditEvent
from contextos.core.errors import coded_error
from gateway import breaker
from gateway.adapter_terms import terms_of
from gateway.breaker import note_outcome
from gateway.health import Seen, adapters_health, figures_of, percentile
from gateway.models import Breaker, ToolCall
from gateway.states import BreakerState
from tests.gateway.admin.alert_rows import SECRET, make_alert, make_receiver
from tests.gateway.admin.rows import call_row, make_run
from tests.gateway.admin.visits import EVERYBODY, READERS, SETTLERS, looked_up, page, visitor
from tests.gateway.world import GatewayWorld

LIST, ADAPTER = page("health"), page("adapter_health", "adp_orders")


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    breaker._successes.clear()


def _opened(world: GatewayWorld, adapter_id: str = "adp_orders") -> Breaker:
    for _ in range(5):
        note_outcome(world.tenant_id, adapter_id, coded_error("function.timeout"))
    return Breaker.objects.get(tenant_id=world.tenant_id, adapter_id=adapter_id)


@pytest.mark.parametrize("name", EVERYBODY)
def test_readers_see_health_and_nobody_else(world: GatewayWorld, name: str) -> None:
    browser = visitor(world, name)
    seen = {browser.get(url).status_code for url in (LIST, ADAPTER)}
    assert seen == {200} if name in READERS else seen <= {302, 403}


@pytest.mark.proves("C12")
def test_an_open_breaker_stands_first_and_an_operator_closes_it_with_a_reason(
    world: GatewayWorld,
) -> None:
    _opened(world, "adp_work")
    browser = visitor(world, "operator")
    rows = browser.get(LIST).context["rows"]
    assert [row["id"] for row in rows] == ["adp_work", "adp_orders"]
    work = page("adapter_health", "adp_work")
    shown = browser.get(work).text
    assert "function.timeout" in shown
    assert "Close the breaker" in shown
    refused = browser.post(work, {"do": "reset", "reset-reason": " "})
    assert "Say why" in refused.text
    answer = browser.post(work, {"do": "reset", "reset-reason": "The owner mended it."})
    assert answer.status_code == 302
    assert Breaker.objects.get().state == BreakerState.CLOSED
    event = AuditEvent.objects.get(action="gateway.breaker.closed")
    assert event.actor_id == world.house.user("operator").user_id
    assert "The owner mended it." in event.text
    told = browser.get(work).text
    assert "The owner mended it." in told
    assert world.house.user("operator").username in told
    late = browser.post(work, {"do": "reset", "reset-reason": "Again."})
    assert "closed already" in late.text


def test_what_people_refused_is_no_error_of_the_adapter() -> None:
    def seen(state: str, code: str) -> Seen:
        return Seen("adp_orders", "orders.lookup", state, code, None, timezone.now())

    refused = [seen("rejected", "approval.rejected")] * 3 + [seen("cancelled", "call.cancelled")]
    figures = figures_of([*refused, seen("failed", "function.timeout")])
    assert list(figures.codes) == [("function.timeout", 1)]


def test_the_front_page_and_the_menu_say_that_an_adapter_rests(world: GatewayWorld) -> None:
    browser = visitor(world, "operator")
    assert "Adapters at rest" not in browser.get("/admin/").text
    _opened(world)
    front = browser.get("/admin/").text
    assert "Adapters at rest" in front
    assert f'href="{ADAPTER}"' in front


@pytest.mark.parametrize("name", [n for n in READERS if n not in SETTLERS])
def test_who_only_reads_can_neither_reset_nor_set_terms(world: GatewayWorld, name: str) -> None:
    _opened(world)
    browser = visitor(world, name)
    assert "Close the breaker" not in browser.get(ADAPTER).text
    for posted in ({"do": "reset", "reset-reason": "x"}, {"do": "terms", "reason": "x"}):
        assert browser.post(ADAPTER, posted).status_code == 403
    assert Breaker.objects.get().state == BreakerState.OPEN


def test_an_operator_sets_terms_within_bounds(world: GatewayWorld) -> None:
    browser = visitor(world, "operator")
    values: dict[str, Any] = {
        "do": "terms",
        "failures": 2,
        "failure_percent": 10,
        "window_seconds": 60,
        "open_seconds": 5,
        "probes": 1,
        "at_once": 4,
        "reason": "It is slow on Mondays.",
    }
    bad = browser.post(ADAPTER, {**values, "failures": 0})
    assert "greater than or equal to 1" in bad.text
    assert browser.post(ADAPTER, values).status_code == 302
    held = terms_of(world.tenant_id, "adp_orders")
    assert (held.failures, held.at_once) == (2, 4)
    assert "slow on Mondays" in AuditEvent.objects.get(action="gateway.adapter_terms.changed").text


def test_another_tenant_s_adapter_is_not_found(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    _opened(elsewhere, "adp_orders")
    assert "Close the breaker" not in visitor(world, "operator").get(ADAPTER).text
    assert visitor(elsewhere, "operator").get(page("adapter_health", "adp_work")).status_code == 404


def test_figures_count_what_ended(world: GatewayWorld) -> None:
    looked_up(world)
    looked_up(world, "ord_0404")
    row = next(row for row in adapters_health(world.tenant_id) if row.adapter_id == "adp_orders")
    assert (row.figures.calls, row.figures.failed) == (2, 1)
    assert row.figures.failure_percent == 50
    assert list(row.figures.codes) == [("ORDER_NOT_FOUND", 1)]
    shown = visitor(world, "auditor").get(ADAPTER)
    assert "ORDER_NOT_FOUND" in shown.text
    assert "50 %" in shown.text


def test_latency_is_the_adapters_own_and_not_what_a_call_waited_for(world: GatewayWorld) -> None:
    looked_up(world)
    ToolCall.objects.update(created_at=timezone.now() - timedelta(hours=3))  # people took so long
    row = next(row for row in adapters_health(world.tenant_id) if row.adapter_id == "adp_orders")
    assert row.figures.p95_ms is not None
    assert row.figures.p95_ms < 60_000


def test_percentiles_are_the_nearest_rank() -> None:
    assert percentile([], 50) is None
    assert percentile([1.0], 95) == 1.0
    assert percentile([float(n) for n in range(1, 101)], 95) == 95.0
    now = timezone.now()
    calls = [Seen("a", "a.b", "ok", "", float(n), now) for n in range(1, 101)]
    found = figures_of(calls)
    assert (found.p50_ms, found.p95_ms) == (50.0, 95.0)


def test_a_busy_tenant_s_page_makes_as_many_statements_as_a_quiet_one_s(
    world: GatewayWorld,
) -> None:
    browser = visitor(world, "operator")
    browser.get(LIST)
    with CaptureQueriesContext(connection) as quiet:
        browser.get(LIST)
    run = make_run(world.house.tenant)
    moment = timezone.now()
    rows = [
        call_row(run, adapter_id="adp_orders", finished_at=moment + timedelta(milliseconds=n))
        for n in range(300)
    ]
    ToolCall.objects.bulk_create(rows)
    with CaptureQueriesContext(connection) as busy:
        assert "300" in browser.get(LIST).text
    assert len(busy) <= len(quiet)


# --- alerts ---------------------------------------------------------------------------------------
def test_alerts_are_listed_and_receivers_are_kept_by_operators(world: GatewayWorld) -> None:
    alert = make_alert(world.house.tenant, "adp_orders")
    browser = visitor(world, "operator")
    assert "adp_orders" in browser.get(page("alert_changelist")).text
    shown = browser.get(page("alert_change", alert.pk)).text
    assert "function.timeout" in shown
    assert f'href="{ADAPTER}"' in shown
    add = page("alertreceiver_add")
    values = {
        "name": "Pager",
        "channel": "webhook",
        "address": "https://hooks.example.com/T0/s3cr3t",
        "secret": SECRET,
        "kinds": ["breaker_open"],
    }
    assert browser.post(add, values).status_code == 302
    listed = browser.get(page("alertreceiver_changelist")).text
    assert "https://hooks.example.com" in listed
    assert "s3cr3t" not in listed
    assert visitor(world, "auditor").get(add).status_code == 403


def test_who_only_reads_sees_no_path_and_no_secret_of_a_receiver(world: GatewayWorld) -> None:
    kept = make_receiver(
        world.house.tenant,
        channel="webhook",
        address="https://hooks.example.com/T0/s3cr3t",
        secret=SECRET,
    )
    shown = visitor(world, "auditor").get(page("alertreceiver_change", kept.pk)).text
    assert "hooks.example.com" in shown
    assert "s3cr3t" not in shown
    assert SECRET not in shown
