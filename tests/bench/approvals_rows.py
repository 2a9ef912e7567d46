"""How long an approver waits: the queue with ten thousand requests in it, and one decision."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from django.test import override_settings

from approvals.models import ApprovalRequest
from tests.approvals.admin.desk import QUEUE, Desk
from tests.approvals.admin.rows import make_request, request_row
from tests.bench.measure import Row, p95_ms

WAITING = 10_000
AGENTS = 250
PAGES: list[dict[str, Any]] = [
    {},
    {"p": "2"},
    {"show": "all"},
    {"agent": "agent_7"},
    {"mode": "network", "p": "3"},
    {"show": "all", "p": "150"},
]


def approvals_rows(*, quick: bool) -> Iterator[Row]:
    """Every row of approvals; quick runs repeat less and keep the sizes."""
    desk = Desk()
    _fill(desk)
    repeats = 20 if quick else 60
    yield Row(
        "queue_page_p95_ms", p95_ms(_turning_pages(desk), repeats=repeats), "ms", must=500, aim=250
    )
    deciding = _deciding(desk, repeats + 1)  # one to warm up
    yield Row("decide_p95_ms", p95_ms(deciding, repeats=repeats), "ms", must=400, aim=200)


def _fill(desk: Desk) -> None:
    """Every tenth asks for what another asks for too."""
    modes = ("destructive", "network", "delegated")
    ApprovalRequest.objects.bulk_create(
        (
            request_row(
                desk.tenant,
                agent_id=f"agent_{n % AGENTS}",
                effective_mode=modes[n % 3],
                risk=20 + n % 30,
                likeness=f"sha256:{n - AGENTS if n % 10 == 0 and n >= AGENTS else n}",
            )
            for n in range(WAITING)
        ),
        batch_size=500,
    )


def _turning_pages(desk: Desk) -> Any:
    pages = cycle(PAGES)

    def turn() -> None:
        answer = desk.fin1.get(QUEUE, next(pages))
        if answer.status_code != 200:
            raise RuntimeError(f"the queue answered {answer.status_code}")

    return turn


def _deciding(desk: Desk, count: int) -> Any:
    """Sending the confirm step: all checks, the vote, its event, the decision."""
    waiting = [make_request(desk.tenant, effective_mode="network") for _ in range(count)]

    def decide() -> None:
        request = waiting.pop()
        sent = {"digest": request.digest, "reason": "Checked."}
        with override_settings(CONTEXTOS_APPROVAL_WAKER="tests.approvals.admin.conftest.nobody"):
            answer = desk.fin1.post(f"{QUEUE}{request.pk}/approve/", sent)
        if answer.status_code != 302:
            raise RuntimeError(f"the vote answered {answer.status_code}")

    return decide
