"""Standing reports: each answers its question from the log alone (E3)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from approvals.models import ApprovalRequest, Vote
from approvals.services.votes import Ballot, cast_vote
from audit.models import AuditEvent, DecisionBody, DecisionRow
from audit.reports import Kind, Period, ReportTable
from audit.reports.catalogue import REPORTS, standing_report
from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from gateway.figures.rollup import roll_up
from gateway.mode_corrections import correct_mode
from registry.services.kill_switches import throw_switch
from tests.factories import make_tenant
from tests.gateway.admin.visits import EVERYBODY, visitor
from tests.gateway.figures.traffic import Traffic
from tests.putting_back import triggers_asleep
from tests.registry.manifests import orders

READ = ("admin", "auditor", "operator")


def _period() -> Period:
    now = timezone.now()
    return Period(now - timedelta(days=1), now + timedelta(minutes=5))


def _report(traffic: Traffic, key: str) -> ReportTable:
    return standing_report(key).build(traffic.world.tenant_id, _period())


def _figures(table: ReportTable) -> dict[str, Any]:
    return {figure.label: figure.value for figure in table.figures}


def _column(table: ReportTable, title: str) -> list[Any]:
    place = [column.title for column in table.columns].index(title)
    return [row[place] for row in table.rows]


@pytest.mark.parametrize("key", sorted(REPORTS))
def test_a_report_about_nothing_is_an_empty_table_with_its_question(db: None, key: str) -> None:
    table = standing_report(key).build(make_tenant().pk, _period())
    assert table.rows == ()
    assert table.question.endswith("?")
    assert table.columns


@pytest.mark.proves("E3")
def test_votes_are_told_by_person_with_their_haste(traffic: Traffic) -> None:
    traffic.refund("ik_aaaaaaaaaaaaaaa1")
    traffic.refund("ik_aaaaaaaaaaaaaaa2", "reject")
    asked, _ = traffic.world.proposed(key="ik_aaaaaaaaaaaaaaa3", run=traffic.run)
    ApprovalRequest.objects.filter(pk=asked.pk).update(
        created_at=timezone.now() - timedelta(hours=1)
    )
    traffic.world.vote(asked, "fin2", seconds_seen=42.5)
    table = _report(traffic, "approvals-by-person")
    assert _column(table, "Votes") == [2, 1]
    assert _column(table, "Approved") == [1, 1]
    assert _column(table, "Rejected") == [1, 0]
    assert _column(table, "Under 3 s") == [2, 0]
    assert _figures(table)["By the busiest person"] == pytest.approx(2 / 3)
    decide = _report(traffic, "time-to-decide")
    assert _figures(decide)["Requests decided"] == 3
    assert _figures(decide)["Votes under 3 seconds"] == pytest.approx(2 / 3)
    assert 3500 < _column(decide, "Longest")[0] < 3700
    quick = _report(traffic, "quick-votes")
    assert len(quick.rows) == 2
    assert Vote.objects.count() == 3
    events = AuditEvent.objects.filter(pk__in=[ref.id for ref in quick.refs if ref])
    assert {event.action for event in events} == {"approval.voted"}


def test_attempts_at_ones_own_are_listed(traffic: Traffic) -> None:
    person = traffic.world.approver("fin1")
    delegation = traffic.world.person_token("fin1")
    run = traffic.world.post("/api/v1/runs", traffic.world.run_body(), delegation=delegation).json()
    body = {
        "run_id": run["run_id"],
        "capability_id": "payments.issue_refund",
        "args": {"transaction_id": "txn_4200", "amount_inr": 4200},
        "idempotency_key": "ik_aaaaaaaaaaaaaaa1",
    }
    traffic.world.post("/api/v1/tool-calls", body, delegation=delegation)
    asked = ApprovalRequest.objects.get()
    with pytest.raises(ContextOSError):
        cast_vote(
            tenant_id=traffic.world.tenant_id,
            approval_id=asked.pk,
            approver=person,
            ballot=Ballot(verdict="approve", reason="Mine.", digest=asked.digest),
        )
    table = _report(traffic, "self-approval-attempts")
    assert _column(table, "Request") == [asked.pk]
    assert _column(table, "Refused as") == ["approval.own_request"]


@pytest.mark.proves("E3")
def test_expired_and_denied_tell_what_the_records_say(traffic: Traffic) -> None:
    traffic.everything()
    expired = _report(traffic, "expired")
    assert _column(expired, "Capability") == ["payments.issue_refund"]
    assert _column(expired, "Votes so far") == [0]
    denied = _report(traffic, "denied")
    by_name = {row[0]: row[1:] for row in denied.rows}
    assert by_name["orders.lookup"][:2] == (9, 4)
    assert by_name["payments.issue_refund"][:2] == (4, 3)
    assert by_name["(not resolved)"][:2] == (1, 1)
    assert "args.schema × 3" in str(by_name["orders.lookup"][3])
    roll_up()
    token = traffic.token("operator")
    totals = traffic.world.get("/api/v1/metrics/capabilities", token=token).json()["totals"]
    figures = _figures(denied)
    assert (figures["Decisions"], figures["Denied"]) == (totals["decisions"], totals["denied"])
    assert figures["Denied per 1,000"] == totals["denied_per_1000"]


def test_a_damaged_record_is_counted_as_such_and_keeps_no_report_from_being_read(
    traffic: Traffic,
) -> None:
    traffic.everything()
    damaged = DecisionRow.objects.filter(status="EXPIRED").values("pk")
    with triggers_asleep(connection):
        assert DecisionBody.objects.filter(pk__in=damaged).update(text="{damaged") == 1
    expired = _report(traffic, "expired")
    assert expired.rows == ()
    assert expired.notes == ("Left out, since their text can't be read: 1. Check the log.",)


def test_modes_that_reviewers_corrected_are_told(traffic: Traffic) -> None:
    call_id = traffic.look_up().json()["tool_call_id"]
    correct_mode(
        tenant_id=traffic.world.tenant_id,
        tool_call_id=call_id,
        mode=ApprovalMode.LOCAL_WRITE,
        reason="It touched the order's last-seen field.",
        actor=traffic.world.house.actor("reviewer"),
    )
    table = _report(traffic, "overridden-modes")
    assert _column(table, "Declared") == ["read_only"]
    assert _column(table, "Ran as") == ["local_write"]


@pytest.mark.proves("E3")
def test_modes_that_policy_lowered_are_told_with_the_rule(traffic: Traffic) -> None:
    from audit.decision_record import CapabilityFacts
    from audit.decisions import record_decision
    from tests.audit.logs import facts

    lowered = CapabilityFacts(
        id='odd","mode_effective":"x","mode_highest":"x',
        mode_requested="destructive",
        mode_effective="delegated",
        mode_highest="destructive",
    )
    record_decision(
        facts(
            traffic.world.tenant_id,
            capability=lowered,
            created_at=timezone.now(),
            policy_decision={"matched_rule_ids": ["small_refund_lower"]},
        )
    )
    traffic.look_up()
    table = _report(traffic, "overridden-modes")
    assert _column(table, "Ran as") == ["delegated"]
    assert _column(table, "Why") == ["rules: small_refund_lower"]
    assert _figures(table)["Decisions looked at"] == 2


def test_a_widening_publication_names_its_rules_and_reviewers(traffic: Traffic) -> None:
    house = traffic.world.house
    manifest = orders(version="2.0.0")
    manifest["transport"]["timeout_seconds"] = 9
    manifest["schemas"]["schema://orders.lookup.input.v1"]["additionalProperties"] = True
    house.published(manifest)
    table = _report(traffic, "widenings")
    rows = {row[2]: row for row in table.rows if row[1] == "adp_orders"}
    assert rows["2.0.0"][4] == "1.0.0"
    assert rows["2.0.0"][5]
    assert rows["2.0.0"][6]
    assert _figures(table)["Widening"] >= 1


def test_changes_of_gates_policies_and_switches_are_listed_with_reasons(traffic: Traffic) -> None:
    throw_switch(
        tenant_id=traffic.world.tenant_id,
        scope="capability",
        target_id="orders.lookup",
        reason="It answers nonsense.",
        actor=traffic.world.house.actor("operator"),
    )
    table = _report(traffic, "gate-and-policy-changes")
    assert {"Gate published", "Policy bundle published", "Kill switch thrown"} <= set(
        _column(table, "What")
    )
    assert "It answers nonsense." in _column(table, "Reason")


def test_unknown_outcomes_are_told_with_how_they_were_settled(traffic: Traffic) -> None:
    call = traffic.refund("ik_aaaaaaaaaaaaaaa1", None)
    from dataclasses import replace

    from audit.decision_record import DecisionStatus, facts_of
    from audit.decisions import record_decision, rows_of

    rows = rows_of(tenant_id=call.tenant_id, decision_id=call.decision_id)
    first = facts_of(rows[0])
    one = replace(first, decision_id="dec_one", seq=1, status=DecisionStatus.UNKNOWN)
    record_decision(replace(one, created_at=timezone.now(), error={"code": "function.timeout"}))
    table = _report(traffic, "unknown-outcomes")
    assert _column(table, "Settled as") == ["open"]
    assert _column(table, "What went wrong") == ["function.timeout"]
    record_decision(replace(one, seq=2, status=DecisionStatus.EXECUTED, created_at=timezone.now()))
    table = _report(traffic, "unknown-outcomes")
    assert _column(table, "Settled as") == ["executed"]
    assert _figures(table)["Still open"] == 0


# --- pages ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EVERYBODY)
def test_only_readers_of_records_open_the_reports(world: Any, name: str) -> None:
    browser = visitor(world, name)
    for place in (reverse("admin:audit_reports"), reverse("admin:audit_report", args=["denied"])):
        seen = browser.get(place).status_code
        assert seen == 200 if name in READ else seen in {302, 403}
    if name in ("reviewer",):
        assert "Standing reports" not in browser.get(reverse("admin:index")).text


@pytest.mark.proves("E3")
def test_an_auditors_look_at_a_report_is_recorded(world: Any) -> None:
    place = reverse("admin:audit_report", args=["denied"])
    visitor(world, "operator").get(place)
    assert not AuditEvent.objects.filter(action="audit.report.viewed").exists()
    visitor(world, "auditor").get(place)
    event = AuditEvent.objects.get(action="audit.report.viewed")
    assert (event.subject_id, event.tenant_id) == ("denied", world.tenant_id)


def test_every_page_shows_figures_table_and_links(traffic: Traffic) -> None:
    traffic.everything()
    browser = visitor(traffic.world, "operator")
    for key in REPORTS:
        answer = browser.get(reverse("admin:audit_report", args=[key]))
        assert answer.status_code == 200, key
        assert REPORTS[key].question in answer.text
    shown = browser.get(reverse("admin:audit_report", args=["approvals-by-person"])).text
    vote = AuditEvent.objects.filter(action="approval.voted").latest("event_id")
    assert f"/admin/audit/auditevent/{vote.pk}" in shown


def test_what_an_agent_wrote_is_shown_as_text(traffic: Traffic) -> None:
    traffic.call("evil.<script>alert(1)</script>", {})
    shown = (
        visitor(traffic.world, "operator").get(reverse("admin:audit_report", args=["denied"])).text
    )
    assert "<script>alert(1)" not in shown


def test_a_period_that_is_none_is_told_at_its_field(world: Any) -> None:
    place = reverse("admin:audit_report", args=["denied"])
    answer = visitor(world, "operator").get(place + "?since=2026-02-01&until=2026-01-01")
    assert answer.status_code == 422
    assert "The end lies before the start." in answer.text
    assert visitor(world, "operator").get(place.replace("denied", "nothing")).status_code == 404


def test_a_report_page_costs_few_queries(traffic: Traffic) -> None:
    traffic.everything()
    browser = visitor(traffic.world, "operator")
    for key in REPORTS:
        with CaptureQueriesContext(connection) as seen:
            browser.get(reverse("admin:audit_report", args=[key]))
        own = [q for q in seen.captured_queries if '"audit_' in q["sql"]]
        assert len(own) <= 6, key


def test_kinds_say_how_values_are_written() -> None:
    assert {kind.value for kind in Kind} == {"text", "number", "share", "seconds", "moment"}
