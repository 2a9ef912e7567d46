"""Finding decision records: every filter, alone and combined, within a window (E3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from audit.access import Window
from audit.clearance import Clearance
from audit.decision_record import derived_mentions
from audit.decisions import rows_of
from audit.erasable import ERASER
from audit.models import DecisionMention, DecisionRow
from audit.record_filter import PARAMETERS, read_filter
from audit.search import estimated_count, page_of_records, records_matching
from contextos.core.errors import ContextOSError
from contextos.core.ids import parse_id
from tests.audit.record_rows import OCTOBER, chain, lookup, refund, refusal
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def window(**limits: Any) -> Window:
    usual: dict[str, Any] = {"user_id": "user_x", "tenant_id": "acme"}
    return Window(**usual | {"clearance": Clearance.RESTRICTED} | limits)


def found(given: dict[str, Any], **limits: Any) -> list[str]:
    """The decisions of the rows that match, each once, newest first."""
    page = page_of_records(read_filter(given), window=window(**limits))
    return list(dict.fromkeys(head.decision_id for head in page.heads))


@pytest.fixture
def decisions() -> dict[str, str]:
    return {
        "lookup": lookup(),
        "other": lookup(
            days=3, principal_chain=chain(agent="agent_2", user="user_2"), intent="support.other"
        ),
        "refund": refund(days=5),
        "small": refund(days=9, amount=100, approver="user_fin2"),
        "refused": refusal(created_at=OCTOBER + timedelta(days=20)),
        "foreign": refund("globex"),
    }


@pytest.mark.proves("E3")
@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ["refused", "small", "refund", "other", "lookup"]),
        ({"capability": "payments.issue_refund"}, ["small", "refund"]),
        ({"adapter": "adp_orders"}, ["refused", "other", "lookup"]),
        ({"status": "REJECTED"}, ["refused"]),
        ({"status": "REJECTED,PROPOSED"}, ["refused", "small", "refund"]),
        ({"outcome": "executed"}, ["small", "refund", "other", "lookup"]),
        ({"mode": "destructive"}, ["small", "refund"]),
        ({"agent": "agent_2"}, ["other"]),
        ({"user": "user_2"}, ["other"]),
        ({"approver": "user_fin1"}, ["refund"]),
        ({"rule": "refund_needs_finance"}, ["small", "refund"]),
        ({"gate": "GATE_FINANCE_APPROVAL"}, ["small", "refund"]),
        ({"trace": "c" * 32}, ["refused"]),
        ({"intent": "support.other"}, ["other"]),
        ({"error": "args.schema"}, ["refused"]),
        ({"amount_min": "3000"}, ["refund"]),
        ({"amount_max": "3000"}, ["small"]),
        ({"currency": "inr", "amount_min": 1}, ["small", "refund"]),
        ({"currency": "EUR"}, []),
        ({"from": "2026-10-05"}, ["refused", "small", "refund"]),
        ({"to": "2026-10-05"}, ["other", "lookup"]),
        ({"from": "2026-10-05", "to": "2026-10-08T00:00:00Z"}, ["refund"]),
        ({"agent": "nobody"}, []),
        ({"status": "FAILED", "outcome": "executed"}, []),
        (
            {
                "from": "2026-10-01",
                "to": "2026-11-01",
                "capability": "payments.issue_refund",
                "amount_min": "3000",
                "approver": "user_fin1",
                "status": "EXECUTED",
            },
            ["refund"],
        ),
        ({"rule": "refund_needs_finance", "agent": "agent_2"}, []),
    ],
    ids=str,
)
def test_each_filter_finds_its_decisions(
    decisions: dict[str, str], given: dict[str, Any], names: list[str]
) -> None:
    assert found(given) == [decisions[name] for name in names]


def test_decision_and_run_are_found_by_their_ids(decisions: dict[str, str]) -> None:
    run_id = DecisionRow.objects.filter(decision_id=decisions["refund"]).values_list("run_id")[0][0]
    assert found({"decision": decisions["small"]}) == [decisions["small"]]
    assert found({"run": run_id}) == [decisions["refund"]]


def test_every_parameter_is_tried_above() -> None:
    assert set(PARAMETERS) == {
        *("from", "to", "capability", "adapter", "status", "outcome", "mode", "agent", "user"),
        *("approver", "rule", "gate", "trace", "run", "decision", "intent", "error"),
        *("currency", "amount_min", "amount_max", "ended"),
    }


def test_people_are_found_by_the_name_they_sign_in_with() -> None:
    fiona = make_user("fin1")
    decision = refund(approver=fiona.user_id)
    assert found({"approver": "fin1"}) == [decision]
    assert found({"approver": fiona.user_id}) == [decision]
    mine = lookup(principal_chain=chain(user=fiona.user_id))
    assert found({"user": "fin1"}) == [mine]


def test_each_ended_decision_can_be_listed_once(decisions: dict[str, str]) -> None:
    page = page_of_records(read_filter({"ended": "1"}), window=window())
    assert [head.decision_id for head in page.heads] == [
        decisions[name] for name in ("refused", "small", "refund", "other", "lookup")
    ]


def test_pages_follow_each_other_without_gap_or_repeat(decisions: dict[str, str]) -> None:
    seen: list[str] = []
    after: str | None = None
    while True:
        page = page_of_records(read_filter({}), window=window(), after=after, limit=4)
        seen += [head.pk for head in page.heads]
        if page.next_after is None:
            break
        after = page.next_after
    every = DecisionRow.objects.filter(tenant_id="acme").order_by("-record_id")
    assert seen == list(every.values_list("pk", flat=True))


def test_another_tenants_records_are_never_found(decisions: dict[str, str]) -> None:
    assert found({"decision": decisions["foreign"]}) == []
    assert found({"rule": "refund_needs_finance"}, tenant_id="globex") == [decisions["foreign"]]


@pytest.mark.proves("E3")
def test_what_lies_outside_the_window_is_never_found(decisions: dict[str, str]) -> None:
    limits = {
        "data_from": datetime(2026, 10, 3, tzinfo=UTC),
        "data_until": datetime(2026, 10, 8, tzinfo=UTC),
    }
    assert found({}, **limits) == [decisions["refund"], decisions["other"]]
    assert found({"from": "2020-01-01", "to": "2030-01-01"}, **limits) == [
        decisions["refund"],
        decisions["other"],
    ]


@pytest.mark.parametrize("name", ["amount_min", "amount_max", "currency"])
def test_amounts_are_searched_only_with_clearance(name: str) -> None:
    value = "INR" if name == "currency" else "3000"
    with pytest.raises(ContextOSError, match=r"auditor.clearance_needed"):
        found({name: value}, clearance=Clearance.INTERNAL)
    assert found({name: value}, clearance=Clearance.CONFIDENTIAL) == []


def test_an_erased_amount_finds_nothing_any_more(decisions: dict[str, str]) -> None:
    ERASER.erase("globex", [decisions["refund"]])  # not theirs
    assert found({"amount_min": "3000"}) == [decisions["refund"]]
    ERASER.erase("acme", [decisions["refund"]])
    assert found({"amount_min": "3000"}) == []


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"nonsense": "1"}, "nonsense"),
        ({"status": "DONE"}, "status"),
        ({"mode": "destructive,evil"}, "mode"),
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-13-01"}, "to"),
        ({"from": "2026-10-02", "to": "2026-10-01"}, "to"),
        ({"amount_min": "NaN"}, "amount_min"),
        ({"amount_max": "1e400"}, "amount_max"),
        ({"amount_min": "lots"}, "amount_min"),
        ({"agent": "x" * 201}, "agent"),
        ({"agent": "a\x00b"}, "agent"),
        ({"agent": ["a"]}, "agent"),
    ],
)
def test_a_bad_filter_is_refused_by_its_name(given: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ContextOSError, match=r"records.filter_invalid") as refused:
        read_filter(given)
    assert refused.value.data["parameter"] == parameter


def test_a_filter_is_spelled_as_it_was_given() -> None:
    given = {
        "from": "2026-10-01T00:00:00.000Z",
        "status": "EXECUTED,FAILED",
        "amount_min": "3000.50",
        "ended": "1",
    }
    assert read_filter(given).as_given() == given
    assert read_filter({"from": "2026-10-01"}).as_given() == {"from": "2026-10-01T00:00:00.000Z"}


@pytest.mark.proves("E1")
def test_mentions_are_what_the_text_says(decisions: dict[str, str]) -> None:
    for decision_id in (decisions["refund"], decisions["lookup"]):
        rows = rows_of(tenant_id="acme", decision_id=decision_id)
        heads = DecisionRow.objects.filter(decision_id=decision_id).order_by("seq")
        for head, record in zip(heads, rows, strict=True):
            stored = DecisionMention.objects.filter(tenant_id="acme", record_id=head.pk)
            assert sorted(stored.values_list("kind", "value")) == list(derived_mentions(record))


def test_an_id_says_the_time_of_its_row_and_rows_of_one_moment_keep_their_order() -> None:
    decision_id = refund(days=2)
    heads = list(DecisionRow.objects.filter(decision_id=decision_id).order_by("record_id"))
    assert [head.seq for head in heads] == [1, 2, 3]
    assert {parse_id(head.pk).created_at for head in heads} == {OCTOBER + timedelta(days=2)}


def test_hostile_text_in_every_field_is_recorded_and_found() -> None:
    ugly = "\U0001f600\u202e'\"%_;--" * 22
    decision_id = lookup(
        principal_chain=chain(agent="a" * 150, user="u" * 150), intent=ugly[:200], run_id="r" * 40
    )
    assert found({"intent": ugly[:200]}) == [decision_id]
    assert found({"intent": "%"}) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="other planners do not estimate")
def test_an_estimate_counts_nothing(decisions: dict[str, str]) -> None:
    assert (estimated_count(read_filter({}), window=window()) or 0) >= 1
    apart = read_filter({"status": "FAILED", "outcome": "executed"})
    assert estimated_count(apart, window=window()) == 0


def _leave_only(index: str) -> None:
    """Over an empty table PostgreSQL may take any index, as its last look at the table tells it:
    the others go, and what is left has to do in order and without a look at the whole."""
    table = DecisionRow._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass", [table])
        promised = {name for (name,) in cursor.fetchall()}
        for name, about in connection.introspection.get_constraints(cursor, table).items():
            if about["index"] and name != index:
                drop = f"ALTER TABLE {table} DROP CONSTRAINT" if name in promised else "DROP INDEX"
                cursor.execute(f"{drop} {name}")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the index covers on PostgreSQL")
def test_one_index_answers_any_combination() -> None:
    wanted = read_filter(
        {
            "agent": "a",
            "user": "u",
            "mode": "network",
            "intent": "i",
            "status": "FAILED",
            "outcome": "failed",
            "capability": "c.d",
            "adapter": "adp",
            "error": "e",
        }
    )
    rows = records_matching(wanted, window=window()).values_list("record_id", flat=True)
    _leave_only("decision_by_tenant")  # the narrower ones serve what is rare
    assert "Index Only Scan Backward using decision_by_tenant" in rows.explain()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the plan is PostgreSQL's")
@pytest.mark.parametrize(
    ("given", "name"),
    [({"user": "u"}, "decision_by_user"), ({"error": "e"}, "decision_by_error")],
)
def test_what_is_rare_has_an_index_of_its_own(given: dict[str, str], name: str) -> None:
    rows = records_matching(read_filter(given), window=window())
    _leave_only(name)
    plan = rows.explain()
    assert f"Index Scan Backward using {name}" in plan
    assert "Sort" not in plan
