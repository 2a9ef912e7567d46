"""REST of votes: the order of the checks, bodies, and what becomes of a request (D2-D5)."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.models import ApprovalRequest, Remark, Vote
from gateway.states import CallState
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from tests.approvals.api.queue import approver, ballot, sound
from tests.approvals.world import KEY, GateWorld
from tests.recorded_worlds import ready
from tests.registry.api.calls import Caller, code_of
from tests.registry.house import House

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner"),
]
NOTHING = "sha256:" + "0" * 64


@pytest.fixture
def world() -> GateWorld:
    return ready(GateWorld)


def _post(world: GateWorld, request: ApprovalRequest, name: str, verb: str, said: Any) -> Any:
    return approver(world, name).post(f"approvals/{request.pk}/{verb}", said)


# --- what becomes of it --------------------------------------------------------------------------
@pytest.mark.proves("D4", "D5", "C5")
def test_a_yes_over_rest_runs_the_call_once(world: GateWorld, ledger: list[str]) -> None:
    request, call = world.proposed()
    body = sound(_post(world, request, "fin1", "approve", ballot(world, request, "fin1")))
    assert (body["state"], body["quorum"]["approve"]) == ("consumed", 1)
    assert body["votes"][0]["factor"] == "totp"
    assert work_on(call.pk)
    again = _post(world, request, "fin1", "approve", ballot(world, request, "fin1"))
    assert code_of(again) == (409, "approval.not_pending")
    assert not work_on(call.pk)
    assert ledger == [f"refund {KEY}"]


@pytest.mark.proves("D4", "D5")
def test_a_no_over_rest_needs_a_reason_and_no_code(world: GateWorld, ledger: list[str]) -> None:
    request, call = world.proposed()
    said = {"reason": "Paid already.", "digest": request.digest}
    body = sound(_post(world, request, "fin1", "reject", said))
    assert (body["state"], body["votes"][0]["reason"]) == ("rejected", "Paid already.")
    call.refresh_from_db()
    assert call.state == CallState.REJECTED
    assert ledger == []


@pytest.mark.proves("D4")
def test_a_vote_can_be_taken_back_until_something_ran(world: GateWorld) -> None:
    world.publish_gate(
        version="1.1.0", stages=[{"name": "finance", "groups": ["finance"], "quorum": 2}]
    )
    request, _ = world.proposed()
    sound(_post(world, request, "fin1", "approve", ballot(world, request, "fin1")))
    body = sound(_post(world, request, "fin1", "withdraw", {}))
    assert (body["votes"], body["quorum"]["approve"]) == ([], 0)
    again = _post(world, request, "fin1", "withdraw", {})
    assert code_of(again) == (409, "approval.nothing_to_withdraw")
    for name in ("fin1", "fin2"):
        sound(_post(world, request, name, "approve", ballot(world, request, name)))
    late = _post(world, request, "fin1", "withdraw", {})
    assert code_of(late) == (409, "approval.not_pending")


def test_a_comment_is_for_all_who_read_the_request(world: GateWorld) -> None:
    request, _ = world.proposed()
    answer = _post(world, request, "fin1", "comments", {"text": "They called twice."})
    assert (answer.status_code, answer.json()["text"]) == (201, "They called twice.")
    assert Remark.objects.get(request=request).author == world.approver("fin1")
    empty = _post(world, request, "fin1", "comments", {"text": "  "})
    assert code_of(empty) == (422, "approval.text_missing")
    foreign = approver(world, "elsewhere").post(
        f"approvals/{request.pk}/comments", {"text": "Hello."}
    )
    assert code_of(foreign) == (404, "approval.unknown")


def _broken(approval_id: str) -> None:
    raise RuntimeError("the database went away just now")


@pytest.mark.proves("D4")
def test_a_vote_counts_although_the_wake_up_call_failed(
    world: GateWorld, ledger: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    request, call = world.proposed()
    with monkeypatch.context() as patch:
        patch.setattr("approvals.wires._waker", lambda: _broken)
        body = sound(_post(world, request, "fin1", "approve", ballot(world, request, "fin1")))
    assert body["state"] == "approved"
    sweep_calls()
    assert work_on(call.pk)
    assert ledger == [f"refund {KEY}"]


# --- the order of the checks ---------------------------------------------------------------------
@pytest.mark.proves("D2", "D3")
def test_checks_come_in_the_order_of_the_contract(world: GateWorld) -> None:
    """Each vote is wrong in every later respect too; only the first fault is told."""
    request, _ = world.proposed()
    wrong = {"digest": NOTHING, "reason": " "}
    path = f"approvals/{request.pk}/approve"
    assert code_of(Caller(None).post(path, wrong)) == (401, "auth.missing")
    foreign = Caller(House().token("approver"))
    assert code_of(foreign.post(path, wrong)) == (404, "approval.unknown")
    outsider = approver(world, "outsider")
    assert code_of(outsider.post(path, wrong)) == (403, "approval.not_eligible")
    fin1 = approver(world, "fin1")
    assert code_of(fin1.post(path, wrong)) == (409, "approval.stale_digest")
    shown = {"digest": request.digest, "reason": " "}
    assert code_of(fin1.post(path, shown)) == (422, "approval.reason_missing")
    reasoned = {"digest": request.digest, "reason": "Checked."}
    assert code_of(fin1.post(path, reasoned)) == (403, "otp.required")
    assert code_of(fin1.post(path, {**reasoned, "otp": "000000"})) == (403, "otp.invalid")
    world.vote(request, "fin2", "reject")
    assert code_of(fin1.post(path, wrong)) == (409, "approval.not_pending")
    assert code_of(outsider.post(path, wrong)) == (403, "approval.not_eligible")


@pytest.mark.proves("D2")
@pytest.mark.parametrize("digest", [None, "", NOTHING, "nonsense"])
def test_a_vote_names_what_was_shown(world: GateWorld, digest: str | None) -> None:
    request, _ = world.proposed()
    for verb in ("approve", "reject"):
        said = ballot(world, request, "fin1", digest=digest)
        assert code_of(_post(world, request, "fin1", verb, said)) == (409, "approval.stale_digest")
    assert not Vote.objects.exists()


@pytest.mark.proves("D2")
def test_the_digest_of_another_request_is_not_this_one(world: GateWorld) -> None:
    run = world.open_run()
    first, _ = world.proposed(run=run)
    second, _ = world.proposed(run=run, key="ik_bbbbbbbbbbbbbbbb")
    assert first.digest != second.digest
    said = ballot(world, second, "fin1", digest=first.digest)
    answer = _post(world, second, "fin1", "approve", said)
    assert code_of(answer) == (409, "approval.stale_digest")


# --- bodies --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "approve"},
        {"approver": "user_1"},
        {"tenant_id": "acme"},
        {"otp": 123456},
        {"reason": 5},
        {"reason": ["a"]},
        {"reason": "x" * 2001},
        {"digest": {"a": 1}},
        {"on_behalf_of": 7},
    ],
    ids=str,
)
def test_a_body_of_another_shape_is_400(world: GateWorld, change: dict[str, Any]) -> None:
    request, _ = world.proposed()
    said = {**ballot(world, request, "fin1"), **change}
    assert code_of(_post(world, request, "fin1", "approve", said)) == (400, "request.invalid")
    assert not Vote.objects.exists()


@pytest.mark.parametrize(
    "raw",
    [b"[]", b"{", b'{"reason":"a","reason":"b"}', b'{"reason":"\\u0000"}', b'"yes"', b"\xff"],
    ids=str,
)
def test_a_broken_body_is_400(world: GateWorld, raw: bytes) -> None:
    request, _ = world.proposed()
    assert _post(world, request, "fin1", "approve", raw).status_code == 400


def test_other_methods_and_addresses_do_nothing(world: GateWorld) -> None:
    request, _ = world.proposed()
    fin1 = approver(world, "fin1")
    assert fin1.get(f"approvals/{request.pk}/approve").status_code == 405
    assert fin1.delete(f"approvals/{request.pk}").status_code == 405
    assert fin1.post("approvals", {}).status_code == 405
    assert code_of(fin1.post("approvals/apr_none/approve", {})) == (404, "approval.unknown")
    assert fin1.post(f"approvals/{request.pk}/approve/", {}).status_code == 404
