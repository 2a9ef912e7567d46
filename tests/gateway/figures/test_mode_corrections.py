"""Modes that were wrong: what tools report, and what reviewers say, once for a call (E5)."""

from __future__ import annotations

from typing import Any

import pytest

from audit.decisions import rows_of
from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from gateway.mode_corrections import correct_mode
from gateway.models import ToolCall
from tests.approvals.world import GateWorld
from tests.gateway.admin.visits import EVERYBODY, visitor
from tests.gateway.figures.traffic import Traffic

WHY = "The order's last-seen field changed in their audit log."


def _looked_up(traffic: Traffic, order_id: str = "ord_0001") -> ToolCall:
    return ToolCall.objects.get(pk=traffic.look_up(order_id).json()["tool_call_id"])


def _corrected(world: GateWorld, call: ToolCall, mode: str = "local_write", **more: Any) -> Any:
    return correct_mode(
        tenant_id=world.tenant_id,
        tool_call_id=call.pk,
        mode=ApprovalMode(mode),
        actor=world.house.actor("reviewer"),
        **{"reason": WHY, **more},
    )


def _misclassified(traffic: Traffic) -> int:
    answer = traffic.world.get("/api/v1/metrics/capabilities", token=traffic.token("operator"))
    return int(answer.json()["totals"]["mode_misclassified"])


@pytest.mark.proves("E5")
def test_a_read_that_reports_a_change_is_misclassified_in_result_and_record(
    traffic: Traffic,
) -> None:
    body = traffic.look_up("ord_0777").json()
    assert body["status"] == "ok"
    assert body["mutations"] == [{"kind": "order.touched", "ref": "ord_0777"}]
    assert body["critic"]["verdict"] == "escalate"
    last = rows_of(tenant_id=traffic.world.tenant_id, decision_id=body["decision_id"])[-1]
    codes = [item["code"] for item in last["scorecard"]["findings"]]
    assert codes == ["mode.misclassified"]
    assert _misclassified(traffic) == 1


@pytest.mark.proves("E5")
def test_a_reviewers_correction_above_the_declared_mode_counts_once(traffic: Traffic) -> None:
    call = _looked_up(traffic)
    event = _corrected(traffic.world, call)
    assert (event.action, event.subject_id) == ("call.mode_corrected", call.pk)
    assert _misclassified(traffic) == 1
    with pytest.raises(ContextOSError) as refused:
        _corrected(traffic.world, call, "destructive")
    assert refused.value.code == "mode_correction.exists"
    assert _misclassified(traffic) == 1


def test_what_the_tool_reported_itself_is_not_counted_again(traffic: Traffic) -> None:
    _corrected(traffic.world, _looked_up(traffic, "ord_0777"))
    assert _misclassified(traffic) == 1


def test_a_correction_below_the_declared_mode_is_recorded_and_does_not_count(
    traffic: Traffic,
) -> None:
    call = traffic.refund("ik_aaaaaaaaaaaaaaa1")
    _corrected(traffic.world, call, "delegated")
    assert AuditEvent.objects.filter(action="call.mode_corrected").exists()
    assert _misclassified(traffic) == 0


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"reason": " short "}, "mode_correction.reason_missing"),
        ({"mode": "read_only"}, "mode_correction.same"),
    ],
)
def test_a_correction_that_says_nothing_is_refused(
    traffic: Traffic, how: dict[str, str], code: str
) -> None:
    with pytest.raises(ContextOSError) as refused:
        _corrected(traffic.world, _looked_up(traffic), **how)
    assert refused.value.code == code


def test_a_call_that_was_never_made_has_no_mode_to_correct(traffic: Traffic) -> None:
    with pytest.raises(ContextOSError) as refused:
        _corrected(traffic.world, traffic.refund("ik_aaaaaaaaaaaaaaa1", "reject"), "read_only")
    assert refused.value.code == "mode_correction.not_called"


@pytest.mark.parametrize("name", EVERYBODY)
def test_reviewers_and_operators_correct_modes_and_nobody_else(traffic: Traffic, name: str) -> None:
    call = _looked_up(traffic)
    place = f"/admin/gateway/toolcall/{call.pk}/mode/"
    browser = visitor(traffic.world, name)
    answer = browser.post(place, {"mode": "local_write", "reason": WHY})
    allowed = name in ("admin", "reviewer", "operator")
    assert AuditEvent.objects.filter(action="call.mode_corrected").exists() is allowed
    assert answer.status_code == 302 if allowed else answer.status_code in {302, 403}


def test_the_page_says_what_is_missing(traffic: Traffic) -> None:
    place = f"/admin/gateway/toolcall/{_looked_up(traffic).pk}/mode/"
    answer = visitor(traffic.world, "reviewer").post(place, {"mode": "local_write", "reason": "x"})
    assert answer.status_code == 422
    assert "ten characters" in answer.text
