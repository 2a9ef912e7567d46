"""Values are erased everywhere, once and for all; proofs, records and callers survive it (E6)."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.services import remarks
from audit.decisions import rows_of
from audit.erasure import carry_out_waiting, foresee, refusal_of, request_erasure
from audit.event_record import leaf_hash
from audit.holds import confirm_release, place_hold, propose_release
from audit.models import AuditEvent, DecisionBody, DecisionRow, Erasure, Payload
from audit.selections import Selection
from audit.selectors import verify_event
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from gateway.attempts import ending_from_row, from_row
from gateway.cancelling import cancel_call
from gateway.models import Evidence, IdempotencyKey, Run, ToolCall
from gateway.states import CallState
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from tests.approvals.world import CALLS, GateWorld
from tests.factories import SYSTEM
from tests.recorded_worlds import ready
from tests.whole_database import says, whole_database

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner"),
]
KEY = "ik_canary7f3e00aa1b"
CANARIES = ("txn_7391", "17337", KEY, "cust_canary", "note_canary", "ses_canary", "said_canary")
WHY = "Request 17 of the data subject."


@pytest.fixture
def world() -> GateWorld:
    return ready(GateWorld)


def _planted(world: GateWorld) -> tuple[ApprovalRequest, ToolCall]:
    """A refund that waits for people, with something to find in every place an agent can reach."""
    run = world.open_run(context={"customer": "cust_canary"}, session_id="ses_canary")
    return world.proposed(
        run=run,
        key=KEY,
        args={"transaction_id": "txn_7391", "amount_inr": 17337},
        metadata={"note": "note_canary"},
    )


def _executed(world: GateWorld) -> ToolCall:
    request, call = _planted(world)
    where: dict[str, Any] = {"tenant_id": world.tenant_id, "approval_id": request.pk}
    remarks.ask(**where, author=world.approver("fin1"), text="Is it for said_canary?")
    remarks.answer(**where, author=world.house.user("author"), text="Yes, said_canary.")
    request.refresh_from_db()
    world.vote(request, "fin1")
    assert work_on(call.pk)
    call.refresh_from_db()
    assert call.state == CallState.OK
    return call


def _erase(world: GateWorld, **what: Any) -> Erasure:
    selection = Selection(tenant_id=world.tenant_id, **what)
    return request_erasure(selection=selection, reason=WHY, actor=world.house.actor("admin"))


def _texts() -> dict[str, str]:
    return dict(DecisionBody.objects.values_list("record_id", "text"))


@pytest.mark.proves("E6")
def test_no_canary_of_an_erased_call_is_left_anywhere_in_the_database(
    world: GateWorld, ledger: list[str]
) -> None:
    call = _executed(world)
    before, texts = whole_database(), _texts()
    assert [word for word in CANARIES if not says(before, word)] == []
    erasure = _erase(world, decision_id=call.decision_id)
    after = whole_database()
    assert [line for line in after.splitlines() for word in CANARIES if says(line, word)] == []
    assert (erasure.state, erasure.decisions) == ("done", 1)
    assert _texts() == texts, "no record changed"
    for row in DecisionRow.objects.all():
        assert bytes(row.leaf_hash) == leaf_hash(texts[row.record_id])
    assert [verify_event(event) for event in AuditEvent.objects.all() if verify_event(event)] == []


@pytest.mark.proves("E6")
def test_the_event_of_an_erasure_names_who_why_and_which_commitments(
    world: GateWorld, ledger: list[str]
) -> None:
    call = _executed(world)
    commitments = set(Payload.objects.values_list("commitment", flat=True))
    _erase(world, decision_id=call.decision_id)
    record: dict[str, Any] = strict_json.loads_object(
        AuditEvent.objects.filter(action="erasure.carried_out").latest("event_id").text
    )
    assert record["actor"]["id"] == world.house.actor("admin").id
    assert record["reason"] == WHY
    assert {item["commitment"] for item in record["data"]["payloads"]} == commitments
    assert record["data"]["places"] == {
        "amounts": 1,
        "approvals": 1,
        "calls": 1,
        "evidence": 1,
        "keys": 1,
        "remarks": 2,
        "runs": 1,
    }
    rows = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)
    assert rows[0]["args_commitment"] in commitments


@pytest.mark.proves("E6")
def test_an_erased_call_answers_its_caller_with_a_code(world: GateWorld, ledger: list[str]) -> None:
    call = _executed(world)
    _erase(world, decision_id=call.decision_id)
    read = world.get(f"{CALLS}/{call.pk}")
    assert (read.status_code, read.json()["error"]["code"]) == (410, "payload.erased")
    same: dict[str, Any] = {"run": {"run_id": call.run_id}, "key": KEY}
    again = world.propose(**same, args={"transaction_id": "txn_7391", "amount_inr": 17337})
    other = world.propose(**same, args={"transaction_id": "txn_1111", "amount_inr": 1})
    for answer in (again, other):
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "payload.erased")
        assert answer.json()["status"] == "rejected"
    assert len(ledger) == 1, "a used key stays used"


@pytest.mark.proves("E6")
def test_what_a_key_and_a_run_were_marked_with_can_not_be_tried_out_any_more(
    world: GateWorld, ledger: list[str]
) -> None:
    call = _executed(world)
    assert bytes(IdempotencyKey.objects.get().salt)
    _erase(world, decision_id=call.decision_id)
    call.refresh_from_db()
    request = ApprovalRequest.objects.get()
    assert bytes(IdempotencyKey.objects.get().salt) == b""
    assert (call.args_digest, request.likeness, request.amount) == ("", "", None)
    assert request.view["summary"] == "payments.issue_refund · destructive"
    assert Run.objects.get(pk=call.run_id).document["context"] == {}


@pytest.mark.proves("E6")
def test_everything_of_one_person_goes_also_where_a_call_was_refused(world: GateWorld) -> None:
    who = world.house.user("service")
    run = world.post(
        "/api/v1/runs",
        world.run_body(context={"customer": "cust_canary"}),
        delegation=world.user_token,
    ).json()
    body = {
        "run_id": run["run_id"],
        "capability_id": "payments.issue_refund",
        "args": {"transaction_id": "txn_7391", "amount_inr": 99_999, "extra": "note_canary"},
        "idempotency_key": KEY,
    }
    refused = world.post(CALLS, body, delegation=world.user_token)
    assert refused.status_code == 422
    unused = world.post(
        "/api/v1/runs",
        world.run_body(context={"customer": "cust_canary"}),
        delegation=world.user_token,
    )
    assert unused.status_code == 201
    erasure = _erase(world, user_id=who.user_id)
    text = whole_database()
    assert [word for word in ("txn_7391", "note_canary", "cust_canary") if says(text, word)] == []
    assert erasure.state == "done"


# --- calls that have not ended -------------------------------------------------------------------
@pytest.mark.proves("E6")
def test_a_call_that_waits_is_cancelled_when_its_values_are_erased(
    world: GateWorld, ledger: list[str]
) -> None:
    request, call = _planted(world)
    seen = foresee(Selection(tenant_id=world.tenant_id, decision_id=call.decision_id))
    assert seen.consequences["calls that still wait are cancelled"] == 1
    erasure = _erase(world, decision_id=call.decision_id)
    call.refresh_from_db()
    request.refresh_from_db()
    assert (erasure.state, call.state, request.state) == ("done", "cancelled", "cancelled")
    assert not [word for word in CANARIES if says(whole_database(), word)]
    assert ledger == []


@pytest.mark.proves("E6")
def test_a_call_under_way_makes_the_erasure_wait_for_its_end(
    world: GateWorld, ledger: list[str]
) -> None:
    _, call = _planted(world)
    ToolCall.objects.filter(pk=call.pk).update(state=CallState.EXECUTING, worker="w1")
    erasure = _erase(world, decision_id=call.decision_id)
    fault = refusal_of(erasure)
    assert fault is not None
    assert fault.code == "erasure.call_running"
    assert Payload.objects.filter(sealed__isnull=True).count() == 0
    ToolCall.objects.filter(pk=call.pk).update(state=CallState.PAUSED, worker="")
    assert carry_out_waiting(actor=SYSTEM) == 1
    assert Payload.objects.filter(sealed__isnull=False).count() == 0


def _lost_arguments(call: ToolCall) -> None:
    Payload.objects.filter(pk=call.args_payload).update(sealed=None, erased_at=timezone.now())


def test_a_call_without_arguments_can_be_cancelled(world: GateWorld, ledger: list[str]) -> None:
    _, call = _planted(world)
    _lost_arguments(call)
    ended = cancel_call(
        tenant_id=world.tenant_id, tool_call_id=call.pk, reason="Gone.", actor=SYSTEM
    )
    assert ended.state == CallState.CANCELLED


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_call_without_arguments_ends_whatever_people_say(
    world: GateWorld, ledger: list[str], verdict: str
) -> None:
    request, call = _planted(world)
    _lost_arguments(call)
    world.vote(request, "fin1", verdict)
    sweep_calls()
    sweep_calls()
    call.refresh_from_db()
    assert call.state == CallState.REJECTED
    last = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)[-1]
    assert last["status"] == "REJECTED"
    assert ledger == []


def test_a_queued_call_without_arguments_is_ended_by_the_worker(
    world: GateWorld, ledger: list[str]
) -> None:
    request, call = _planted(world)
    world.vote(request, "fin1")
    _lost_arguments(call)
    assert work_on(call.pk)
    call.refresh_from_db()
    assert (call.state, call.error_code) == (CallState.REJECTED, "payload.erased")
    assert ledger == []


@pytest.mark.proves("E2")
def test_another_payload_in_the_place_of_the_arguments_is_tampering(
    world: GateWorld, ledger: list[str]
) -> None:
    request, call = _planted(world)
    _, other = world.proposed(key="ik_bbbbbbbbbbbbbbbb", amount=1)
    world.vote(request, "fin1")
    ToolCall.objects.filter(pk=call.pk).update(args_payload=other.args_payload)
    call.refresh_from_db()
    with pytest.raises(ContextOSError) as found:
        from_row(call)
    assert found.value.code == "artefact.tampered"
    assert ending_from_row(call).gone is not None
    work_on(call.pk)
    call.refresh_from_db()
    assert (call.state, call.error_code) == (CallState.REJECTED, "artefact.tampered")
    assert ledger == []


# --- holds ---------------------------------------------------------------------------------------
@pytest.mark.proves("E6")
def test_an_erasure_under_a_hold_is_refused_stays_listed_and_is_done_after_release(
    world: GateWorld, ledger: list[str]
) -> None:
    call = _executed(world)
    hold = place_hold(
        selection=Selection(tenant_id=world.tenant_id, capability_id="payments.issue_refund"),
        title="Matter 12",
        reason="Court order.",
        actor=world.house.actor("admin"),
    )
    erasure = _erase(world, decision_id=call.decision_id)
    fault = refusal_of(erasure)
    assert fault is not None
    assert (fault.code, erasure.state, erasure.held) == ("erasure.held", "waiting", 1)
    assert says(whole_database(), "txn_7391")
    where = {"tenant_id": world.tenant_id, "hold_id": hold.pk}
    propose_release(**where, reason="Settled.", actor=world.house.actor("admin"))
    assert carry_out_waiting(actor=SYSTEM) == 0
    confirm_release(**where, actor=world.house.actor("reviewer"))
    assert carry_out_waiting(actor=SYSTEM) == 1
    assert not says(whole_database(), "txn_7391")


def test_evidence_of_an_erased_call_stays_as_a_reference(
    world: GateWorld, ledger: list[str]
) -> None:
    call = _executed(world)
    _erase(world, decision_id=call.decision_id)
    for row in Evidence.objects.filter(tool_call_id=call.pk):
        assert Payload.objects.get(pk=row.payload_id).sealed is None


def test_an_erasure_without_a_reason_or_a_filter_is_refused(world: GateWorld) -> None:
    with pytest.raises(ContextOSError) as wide:
        _erase(world)
    assert wide.value.code == "erasure.too_wide"
    with pytest.raises(ContextOSError) as mute:
        request_erasure(
            selection=Selection(tenant_id=world.tenant_id, user_id="user_x"),
            reason="  ",
            actor=world.house.actor("admin"),
        )
    assert mute.value.code == "erasure.reason_missing"
    assert not Erasure.objects.exists()


# --- the command ---------------------------------------------------------------------------------
def _command(world: GateWorld, *words: str) -> str:
    out = StringIO()
    who = world.house.user("admin").username
    call_command("erase", "--tenant", world.tenant_id, "--by", who, *words, stdout=out)
    return out.getvalue()


def test_the_command_shows_first_and_erases_with_yes(world: GateWorld, ledger: list[str]) -> None:
    _, call = _planted(world)
    shown = _command(world, "--call", call.pk)
    assert "1 calls that still wait are cancelled" in shown
    assert "Nothing was erased" in shown
    assert says(whole_database(), "txn_7391")
    said = _command(world, "--call", call.pk, "--yes", "--reason", WHY)
    assert "values of 1 decisions erased" in said
    assert not says(whole_database(), "txn_7391")


def test_the_command_refuses_strangers_and_ends_with_a_code_under_a_hold(
    world: GateWorld, ledger: list[str]
) -> None:
    _, call = _planted(world)
    place_hold(
        selection=Selection(tenant_id=world.tenant_id),
        title="Everything",
        reason="Court order.",
        actor=world.house.actor("admin"),
    )
    with pytest.raises(CommandError, match=r"erasure\.held"):
        _command(world, "--decision", call.decision_id, "--yes", "--reason", WHY)
    with pytest.raises(CommandError, match=r"role\.missing"):
        call_command(
            *("erase", "--tenant", world.tenant_id, "--decision", call.decision_id),
            *("--by", world.house.user("reviewer").username, "--yes", "--reason", WHY),
        )
    with pytest.raises(CommandError, match=r"erasure\.nothing_found"):
        _command(world, "--call", "tool_nothing")
    assert says(whole_database(), "txn_7391")
