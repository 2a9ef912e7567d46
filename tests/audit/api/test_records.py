"""REST of decision records: who reads, what they find, and how refusals are worded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.accesses import Terms, grant_access
from audit.event_record import record_hash
from audit.models import AuditEvent, AuditorAccess
from contextos.identity.models import Tenant
from tests.audit.logs import seal_all
from tests.audit.record_rows import lookup, refund
from tests.factories import (
    SYSTEM,
    make_agent,
    make_agent_token,
    make_member,
    make_tenant,
    make_user,
    make_user_token,
)
from tests.registry.api.calls import Caller, code_of

pytestmark = pytest.mark.django_db
RECORDS = "decision-records"


@pytest.fixture
def acme() -> Tenant:
    return make_tenant("acme")


def reader(tenant: Tenant, role: str = "auditor") -> Caller:
    return Caller(make_user_token(make_member(tenant, role), tenant).token)


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [row["decision_id"] for row in answer.json()["results"]]


@pytest.mark.proves("E1", "E3")
def test_an_auditor_finds_the_refunds_that_one_person_approved(acme: Tenant) -> None:
    wanted = refund()
    refund(amount=100)
    refund(approver="user_fin2")
    lookup()
    answer = reader(acme).get(
        f"{RECORDS}?capability=payments.issue_refund&approver=user_fin1&amount_min=3000"
        "&from=2026-10-01&to=2026-11-01&status=EXECUTED"
    )
    assert ids(answer) == [wanted]
    row = answer.json()["results"][0]
    assert (row["seq"], row["outcome"]) == (3, "executed")
    assert row["approvals"][0]["votes"][0]["approver"] == "user_fin1"
    assert answer["Cache-Control"] == "private, no-store"


@pytest.mark.proves("E2")
def test_a_row_of_the_list_is_the_record_that_its_hash_covers(acme: Tenant) -> None:
    decision_id = refund()
    seal_all()
    caller = reader(acme)
    listed = caller.get(RECORDS).json()["results"]
    kept = caller.get(f"{RECORDS}/{decision_id}").json()["rows"]
    assert listed == [row["record"] for row in reversed(kept)]
    assert all(row["record_hash"] == record_hash(row) for row in listed)


def test_a_decision_has_all_its_rows_and_their_places(acme: Tenant) -> None:
    decision_id = refund()
    seal_all()
    body = reader(acme, "operator").get(f"{RECORDS}/{decision_id}").json()
    assert body["decision_id"] == decision_id
    assert [row["record"]["status"] for row in body["rows"]] == ["PROPOSED", "APPROVED", "EXECUTED"]
    places = [row["log_index"] for row in body["rows"]]
    assert places == sorted(places)
    assert all(isinstance(place, int) for place in places)
    assert set(body) == {"decision_id", "rows"}
    assert set(body["rows"][0]) == {"record", "log_index"}


def test_pages_are_walked_with_the_cursor(acme: Tenant) -> None:
    made = [lookup(days=day) for day in range(5)]
    caller, seen, cursor = reader(acme), [], ""
    for _ in range(4):
        answer = caller.get(f"{RECORDS}?status=EXECUTED&limit=2{cursor}")
        seen += ids(answer)
        if answer.json()["next"] is None:
            break
        cursor = f"&cursor={answer.json()['next']}"
    assert seen == list(reversed(made))
    assert code_of(caller.get(f"{RECORDS}?cursor=forged")) == (400, "cursor.invalid")


@pytest.mark.parametrize("role", ["auditor", "operator", "platform_admin"])
def test_those_who_oversee_the_tenant_read(acme: Tenant, role: str) -> None:
    decision_id = lookup()
    assert ids(reader(acme, role).get(f"{RECORDS}?ended=1")) == [decision_id]


@pytest.mark.parametrize("role", ["finance_approver", "manifest_author", "service"])
def test_other_people_are_refused(acme: Tenant, role: str) -> None:
    decision_id = lookup()
    caller = reader(acme, role)
    assert code_of(caller.get(RECORDS)) == (403, "role.missing")
    assert code_of(caller.get(f"{RECORDS}/{decision_id}")) == (403, "role.missing")


def test_agents_are_refused_and_nobody_is_unknown(acme: Tenant) -> None:
    agent = Caller(make_agent_token(make_agent(acme)).token)
    assert code_of(agent.get(RECORDS)) == (403, "auth.person_needed")
    assert code_of(Caller(None).get(RECORDS))[0] == 401


def test_another_tenants_decision_is_as_good_as_absent(acme: Tenant) -> None:
    foreign = lookup("globex")
    caller = reader(acme)
    assert code_of(caller.get(f"{RECORDS}/{foreign}")) == (404, "records.unknown")
    assert code_of(caller.get(f"{RECORDS}/nonsense%00")) == (404, "request.not_found")
    assert ids(caller.get(RECORDS)) == []


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("status=DONE", "status"),
        ("from=yesterday", "from"),
        ("colour=red", "colour"),
        ("agent=a&agent=b", "agent"),
        ("amount_min=lots", "amount_min"),
    ],
)
def test_a_bad_filter_is_named(acme: Tenant, query: str, parameter: str) -> None:
    answer = reader(acme).get(f"{RECORDS}?{query}")
    assert code_of(answer) == (400, "records.filter_invalid")
    assert answer.json()["details"]["parameter"] == parameter


@pytest.mark.proves("E3")
def test_a_windowed_auditor_reads_the_period_until_the_access_ends(acme: Tenant) -> None:
    early, inside = lookup(), lookup(days=10)
    auditor, now = make_user("aude"), timezone.now()
    grant_access(
        user=auditor,
        tenant_id="acme",
        terms=Terms(
            starts_at=now - timedelta(hours=1),
            ends_at=now + timedelta(days=1),
            data_from=datetime(2026, 10, 5, tzinfo=UTC),
        ),
        actor=SYSTEM,
        reason="Yearly audit",
    )
    caller = Caller(make_user_token(auditor, acme).token)
    assert ids(caller.get(f"{RECORDS}?ended=1")) == [inside]
    assert code_of(caller.get(f"{RECORDS}/{early}")) == (403, "auditor.outside_window")
    assert caller.get(f"{RECORDS}/{inside}").status_code == 200
    refused = caller.get(f"{RECORDS}?amount_min=1")
    assert code_of(refused) == (403, "auditor.clearance_needed")
    AuditorAccess.objects.update(ends_at=now)
    for path in (RECORDS, f"{RECORDS}/{inside}"):
        answer = caller.get(path)
        assert code_of(answer) == (403, "auditor.access_ended")
        assert answer.json()["detail"].startswith("Your access as an auditor ended on")


@pytest.mark.proves("E3")
def test_every_look_of_an_auditor_is_recorded_once_a_minute(acme: Tenant) -> None:
    decision_id = lookup()
    auditor, operator = reader(acme), reader(acme, "operator")
    for caller in (auditor, auditor, operator):
        caller.get(f"{RECORDS}?agent=agent_1")
        caller.get(f"{RECORDS}/{decision_id}")
    looked = AuditEvent.objects.filter(tenant_id="acme", action__startswith="audit.record")
    assert sorted(looked.values_list("action", "subject_id"))[0] == (
        "audit.record.viewed",
        decision_id,
    )
    # A minute may end between two looks.
    assert 2 <= looked.count() <= 4
    assert '"agent":"agent_1"' in looked.get(action="audit.records.searched").text
