"""The queue: order, what each line says, heaps of identical asks, filters, views, statements."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.models import ApprovalRequest
from tests.approvals.admin.desk import QUEUE, Desk, page
from tests.approvals.admin.rows import request_row

MOST_STATEMENTS = 12


def _shown(answer: object) -> list[str]:
    return [row.pk for row in answer.context["cl"].result_list]  # type: ignore[attr-defined]


def test_riskier_requests_come_first_then_older_ones(desk: Desk) -> None:
    now = timezone.now()
    young = desk.request(risk=30, created_at=now)
    old = desk.request(risk=30, created_at=now - timedelta(hours=2))
    risky = desk.request(risk=45, created_at=now)
    assert _shown(desk.fin1.get(QUEUE)) == [risky.pk, old.pk, young.pk]


@pytest.mark.proves("D5")
def test_ten_thousand_waiting_are_listed_in_few_statements(desk: Desk) -> None:
    ApprovalRequest.objects.bulk_create(
        (
            request_row(desk.tenant, agent_id=f"agent_{n % 250}", risk=20 + n % 30)
            for n in range(10_000)
        ),
        batch_size=500,
    )
    desk.fin1.get(QUEUE)
    with CaptureQueriesContext(connection) as seen:
        answer = desk.fin1.get(QUEUE)
    assert answer.status_code == 200
    assert len(_shown(answer)) == 50
    assert len(seen) <= MOST_STATEMENTS


def test_detail(desk: Desk) -> None:
    request = desk.request()
    answer = desk.fin1.get(page(request))
    assert answer.status_code == 200
    answer = desk.fin1.get(page(request, "approve"))
    assert answer.status_code == 200
    answer = desk.vote(request, "fin1")
    assert answer.status_code == 302, answer.text
