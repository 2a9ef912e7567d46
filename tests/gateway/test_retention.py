"""What people decided is kept as long as the events that tell of it, and no longer (E6)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import time_machine

from approvals.models import ApprovalRequest, Notice, Remark, Vote
from approvals.notify import plan_notices
from approvals.services import remarks
from audit.holds import confirm_release, place_hold, propose_release
from audit.models import AuditEvent, DecisionRow, RecordClass
from audit.purging import apply_retention
from audit.retention import set_retention
from audit.selections import Selection
from contextos.core import strict_json
from gateway.models import ToolCall
from gateway.sweep import sweep_calls
from tests.approvals.world import GateWorld
from tests.audit.logs import seal_all
from tests.audit.old_rows import ago
from tests.factories import SYSTEM, actor_for, make_member

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.proves("E6")]
SEVEN_YEARS_AND_MORE, TWO_YEARS = 2600, 730


def _refused_refund(since: datetime) -> ApprovalRequest:
    """Asked about, talked about and rejected, all of it at that time."""
    with time_machine.travel(since):
        world = GateWorld()
        request, _ = world.proposed()
        where: dict[str, Any] = {"tenant_id": world.tenant_id, "approval_id": request.pk}
        plan_notices()
        remarks.comment(**where, author=world.approver("fin2"), text="Looks odd.")
        world.vote(request, "fin1", "reject")
        sweep_calls()
        seal_all()
    request.refresh_from_db()
    assert (request.state, ToolCall.objects.get().state) == ("rejected", "rejected")
    assert Notice.objects.exists()
    return request


def _retention(request: ApprovalRequest, record_class: RecordClass, days: int) -> None:
    set_retention(
        tenant_id=request.tenant_id,
        record_class=record_class,
        days=days,
        reason="A shorter time.",
        actor=SYSTEM,
    )


def _left() -> list[int]:
    tables: list[Any] = [DecisionRow, ToolCall, ApprovalRequest, Vote, Remark, Notice]
    return [int(table.objects.exists()) for table in tables]


def test_requests_votes_and_talk_go_when_the_time_of_events_is_over() -> None:
    request = _refused_refund(ago(SEVEN_YEARS_AND_MORE))
    apply_retention()
    assert _left() == [0, 0, 0, 0, 0, 0]
    told = AuditEvent.objects.get(action="retention.let_go", tenant_id=request.tenant_id)
    record: dict[str, Any] = strict_json.loads_object(told.text)
    said = record["data"]["places"]
    assert (said["approvals"], said["votes"], said["remarks"]) == (1, 1, 1)


def test_who_decided_stays_though_the_record_went_sooner() -> None:
    request = _refused_refund(ago(TWO_YEARS))
    for name in (RecordClass.GATED_RECORD, RecordClass.GATED_VALUE):
        _retention(request, name, 365)
    apply_retention()
    assert _left() == [0, 0, 1, 1, 1, 1]
    _retention(request, RecordClass.EVENT, 365)
    apply_retention()
    assert _left() == [0, 0, 0, 0, 0, 0]


def test_a_request_stays_with_its_record_however_soon_events_go() -> None:
    request = _refused_refund(ago(TWO_YEARS))
    _retention(request, RecordClass.EVENT, 365)
    apply_retention()
    assert _left() == [1, 1, 1, 1, 1, 1], "its record is kept for seven years"


def test_a_hold_over_its_time_keeps_a_request_until_two_people_release_it() -> None:
    request = _refused_refund(ago(TWO_YEARS))
    tenant_id = request.tenant_id
    for name in (RecordClass.GATED_RECORD, RecordClass.GATED_VALUE):
        _retention(request, name, 365)
    apply_retention()
    hold = place_hold(
        selection=Selection(tenant_id=tenant_id), title="All", reason="Order.", actor=SYSTEM
    )
    _retention(request, RecordClass.EVENT, 365)
    apply_retention()
    assert _left() == [0, 0, 1, 1, 1, 1]
    where = {"tenant_id": tenant_id, "hold_id": hold.pk}
    propose_release(**where, reason="Settled.", actor=SYSTEM)
    other = make_member(request.tenant, "platform_admin")
    confirm_release(**where, actor=actor_for(other, request.tenant))
    apply_retention()
    assert _left() == [0, 0, 0, 0, 0, 0]
