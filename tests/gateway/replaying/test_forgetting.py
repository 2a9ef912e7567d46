"""Purged decisions take their calls along; what people decided stays readable (E6)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from approvals.models import ApprovalRequest
from contextos.core.clock import utcnow
from gateway.erasable import ERASER
from gateway.models import IdempotencyKey, ToolCall
from tests.gateway.replaying.story import StoryWorld
from tests.identity.signed_in import browser_of

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E6")]


def test_calls_of_purged_decisions_go_unless_a_repeat_may_still_ask_for_them(
    world: StoryWorld,
) -> None:
    names = ("read", "written", "approved", "waiting")
    ids = {name: world.decisions[name] for name in names}
    world.ask("kept", "orders.lookup", {"order_id": "ord_0001"}, idempotency_key="ik_alive")
    written = world.call("written").pk
    IdempotencyKey.objects.exclude(tool_call_id=world.call("kept").pk).update(
        expires_at=utcnow() - timedelta(seconds=1)
    )
    asked = [*ids.values(), world.decisions["kept"]]
    assert ERASER.forget("another_tenant", asked) == {"calls": 0}
    assert ERASER.forget(world.tenant_id, asked) == {"calls": 3}
    left = set(ToolCall.objects.filter(decision_id__in=asked).values_list("decision_id", flat=True))
    assert left == {ids["waiting"], world.decisions["kept"]}, "what has not ended is not past"
    assert not IdempotencyKey.objects.filter(tool_call_id=written).exists()
    assert ERASER.forget(world.tenant_id, asked) == {"calls": 0}


def test_a_request_whose_call_is_gone_can_still_be_read(world: StoryWorld) -> None:
    call = world.call("approved")
    request = ApprovalRequest.objects.get(subject_id=call.pk)
    IdempotencyKey.objects.update(expires_at=utcnow() - timedelta(seconds=1))
    ERASER.erase(world.tenant_id, [call.decision_id])
    assert ERASER.forget(world.tenant_id, [call.decision_id]) == {"calls": 1}
    browser = browser_of(world.house.user("admin"), world.house.tenant)
    page = browser.get(reverse("admin:approvals_request", args=[request.pk]), follow=True)
    assert page.status_code == 200
    assert browser.get(reverse("admin:gateway_record", args=[call.decision_id])).status_code == 200
