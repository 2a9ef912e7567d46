"""REST of the queue: who reads what, page by page, and how much of the arguments."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.api import examples
from approvals.models import ApprovalRequest
from audit.models import Payload
from contextos.core.redaction import MARK
from contextos.identity import services
from contextos.identity.models import User
from tests.approvals.api.queue import approver, schema, sound
from tests.approvals.world import CALLS, GATE, KEY, GateWorld
from tests.factories import SYSTEM, make_tenant, make_user_token
from tests.recorded_worlds import ready
from tests.registry.api.calls import Caller, code_of
from tests.registry.house import House
from tests.registry.manifests import REFUND_IN, refunds

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> GateWorld:
    return ready(GateWorld)


def _propose(world: GateWorld, *amounts: int) -> list[ApprovalRequest]:
    run = world.open_run()
    return [
        world.proposed(run=run, key=f"ik_{amount:016d}", amount=amount)[0] for amount in amounts
    ]


@pytest.mark.proves("D1", "D5")
def test_an_approver_reads_the_request_in_the_published_shape(world: GateWorld) -> None:
    request, call = world.proposed()
    body = sound(approver(world, "fin1").get(f"approvals/{request.pk}"))
    assert body["subject"] == {"kind": "tool_call", "id": call.pk, "digest": request.digest}
    assert (body["gate"], body["gate_version"], body["state"]) == (GATE, "1.0.0", "pending")
    assert body["arguments"]["amount_inr"] == 4200
    assert body["quorum"] == {"needed": 1, "approve": 0, "deny": 0}
    assert body["requested_by"][0]["id"] == world.agent.agent_id
    assert body["summary"].startswith("payments.issue_refund · 4200 INR")


def test_an_example_has_the_published_shape() -> None:
    for example in (examples.PENDING, examples.CONSUMED):
        assert schema().errors(example.value) == ()


def test_every_operation_is_described_with_an_example() -> None:
    paths = orjson.loads(Client().get("/api/schema?format=json").content)["paths"]
    approve = paths["/api/v1/approvals/{approval_id}/approve"]["post"]
    assert approve["requestBody"]["content"]["application/json"]["examples"]
    listed = paths["/api/v1/approvals"]["get"]
    assert {"gate", "state", "limit", "cursor"} <= {each["name"] for each in listed["parameters"]}


def test_the_schema_is_served() -> None:
    served = Client().get("/schemas/approval-request.v1.schema.json")
    assert (served.status_code, served["Content-Type"]) == (200, "application/schema+json")


# --- lists ---------------------------------------------------------------------------------------
@pytest.mark.proves("D5")
def test_what_waits_comes_riskiest_first_and_page_by_page(world: GateWorld) -> None:
    small, large, medium = _propose(world, 5, 19000, 300)
    fin1, seen = approver(world, "fin1"), list[str]()
    cursor: str | None = ""
    while cursor is not None:
        page = fin1.get(f"approvals?state=pending&limit=2&cursor={cursor}").json()
        seen += [each["approval_id"] for each in page["results"]]
        assert all(schema().errors(each) == () for each in page["results"])
        cursor = page["next"]
    assert seen == [large.pk, medium.pk, small.pk]


def test_filters_narrow_and_unknown_ones_are_refused(world: GateWorld) -> None:
    request, _ = world.proposed()
    fin1 = approver(world, "fin1")
    assert len(fin1.get(f"approvals?gate={GATE}&state=pending").json()["results"]) == 1
    assert fin1.get("approvals?gate=GATE_OTHER").json() == {"results": [], "next": None}
    assert fin1.get("approvals?state=consumed").json()["results"] == []
    assert [each["approval_id"] for each in fin1.get("approvals").json()["results"]] == [request.pk]
    for query in ("state=open", "amount=5", "limit=0", "cursor=forged"):
        assert fin1.get(f"approvals?{query}").status_code == 400, query


def test_a_long_page_costs_no_more_statements_than_a_short_one(world: GateWorld) -> None:
    fin1 = approver(world, "fin1")
    _propose(world, 5)
    with CaptureQueriesContext(connection) as few:
        fin1.get("approvals?state=pending")
    _propose(world, 6, 7, 8, 9)
    with CaptureQueriesContext(connection) as many:
        assert len(fin1.get("approvals?state=pending").json()["results"]) >= 4
    assert len(many) == len(few) <= 16


# --- who reads -----------------------------------------------------------------------------------
@pytest.mark.proves("D1")
@pytest.mark.parametrize("name", ["auditor", "operator", "admin"])
def test_those_who_oversee_read_all_with_the_values_redacted(world: GateWorld, name: str) -> None:
    request, _ = world.proposed()
    body = sound(Caller(world.house.token(name)).get(f"approvals/{request.pk}"))
    assert set(body["arguments"]) == {"transaction_id", "amount_inr", "idempotency_key"}
    assert set(body["arguments"].values()) == {MARK}


@pytest.mark.proves("D1")
def test_an_approver_of_no_gate_sees_nothing(world: GateWorld) -> None:
    request, _ = world.proposed()
    other = approver(world, "elsewhere")
    assert other.get("approvals").json()["results"] == []
    assert code_of(other.get(f"approvals/{request.pk}")) == (404, "approval.unknown")


def test_a_person_without_a_reading_role_is_told_which_would_do(world: GateWorld) -> None:
    service = Caller(world.house.token("service"))
    assert code_of(service.get("approvals")) == (403, "role.missing")


def test_another_tenants_requests_do_not_exist(world: GateWorld) -> None:
    request, _ = world.proposed()
    for stranger in ("auditor", "approver"):
        caller = Caller(House().token(stranger))
        assert code_of(caller.get(f"approvals/{request.pk}")) == (404, "approval.unknown")
        assert caller.get("approvals").json()["results"] == []


@pytest.mark.proves("D3")
def test_agents_and_nobody_read_nothing(world: GateWorld) -> None:
    request, _ = world.proposed()
    for path in ("approvals", f"approvals/{request.pk}"):
        assert code_of(Caller(world.agent_token).get(path)) == (403, "approval.people_only")
        assert code_of(Caller(None).get(path)) == (401, "auth.missing")


@pytest.mark.proves("D2")
def test_who_asked_for_it_sees_no_values_though_keeping_the_gate(world: GateWorld) -> None:
    token = world.person_token("fin1")
    run = world.post("/api/v1/runs", world.run_body(), delegation=token).json()
    answer = world.post(
        CALLS,
        {
            "run_id": run["run_id"],
            "capability_id": "payments.issue_refund",
            "args": {"transaction_id": "txn_4200", "amount_inr": 4200},
            "idempotency_key": KEY,
        },
        delegation=token,
    )
    request = ApprovalRequest.objects.get(subject_id=answer.json()["tool_call_id"])
    body = sound(approver(world, "fin1").get(f"approvals/{request.pk}"))
    assert set(body["arguments"].values()) == {MARK}


def test_a_lent_token_reads(world: GateWorld) -> None:
    request, _ = world.proposed()
    lent = services.issue_user_token(
        tenant_id=world.tenant_id,
        user=world.approver("fin1"),
        actor=world.house.actor("admin"),
    ).token
    sound(Caller(lent).get(f"approvals/{request.pk}"))


# --- secrets -------------------------------------------------------------------------------------
def _with_secrets() -> dict[str, Any]:
    manifest = refunds(version="1.1.0")
    members = manifest["schemas"][REFUND_IN]["properties"]
    members["pin"] = {"type": "string", "format": "password"}
    members["payer"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"name": {"type": "string"}, "iban": {"type": "string", "x-secret": True}},
    }
    members["codes"] = {"type": "array", "items": {"type": "string", "writeOnly": True}}
    return manifest


@pytest.mark.proves("D2")
def test_secret_typed_values_are_hidden_from_eligible_approvers_too(world: GateWorld) -> None:
    world.house.published(_with_secrets())
    args = {
        "transaction_id": "txn_4200",
        "amount_inr": 7,
        "pin": "0000-pin",
        "payer": {"name": "Ada", "iban": "DE-secret"},
        "codes": ["one-code"],
    }
    request, _ = world.proposed(args=args)
    body = sound(approver(world, "fin1").get(f"approvals/{request.pk}"))
    assert body["arguments"]["pin"] == MARK
    assert body["arguments"]["payer"] == {"name": "Ada", "iban": MARK}
    assert body["arguments"]["codes"] == [MARK]
    assert body["arguments"]["amount_inr"] == 7


def test_erased_arguments_leave_the_request_readable(world: GateWorld) -> None:
    request, _ = world.proposed()
    Payload.objects.filter(payload_id=request.payload_id).update(
        sealed=None, erased_at=timezone.now()
    )
    body = sound(approver(world, "fin1").get(f"approvals/{request.pk}"))
    assert body["arguments"] is None


def test_answers_are_kept_by_no_cache(world: GateWorld) -> None:
    request, _ = world.proposed()
    answer = approver(world, "fin1").get(f"approvals/{request.pk}")
    assert "no-store" in answer["Cache-Control"]
    assert "Authorization" in answer["Vary"]


def test_a_person_of_two_tenants_sees_each_by_its_own_token(world: GateWorld) -> None:
    request, _ = world.proposed()
    other = make_tenant()
    user: User = world.approver("fin1")
    services.grant_role(user=user, tenant_id=other.pk, role="finance_approver", actor=SYSTEM)
    elsewhere = Caller(make_user_token(user, other).token)
    assert elsewhere.get("approvals").json()["results"] == []
    assert code_of(elsewhere.get(f"approvals/{request.pk}")) == (404, "approval.unknown")
