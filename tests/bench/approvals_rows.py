"""How long an approver waits: the queue with ten thousand requests in it, and one decision."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from django.test import Client

from approvals.models import ApprovalRequest
from approvals.opening import PENDING_PER_AGENT
from contextos.identity.models import Tenant
from gateway.models import ToolCall
from tests.approvals.admin.desk import QUEUE
from tests.approvals.admin.rows import request_row
from tests.approvals.world import GateWorld
from tests.bench.measure import Row, p95_ms
from tests.identity.signed_in import browser_of

WAITING = 10_000
AGENTS = 250
PAGES: list[dict[str, Any]] = [
    {},
    {"p": "2"},
    {"show": "all"},
    {"agent": "agent_of_many_7"},
    {"mode": "network", "p": "3"},
    {"show": "all", "p": "150"},
]


def approvals_rows(*, quick: bool) -> Iterator[Row]:
    """Every row of approvals; quick runs repeat less and keep the sizes."""
    world = GateWorld()
    _fill(world.house.tenant)
    browser = browser_of(world.approver("fin1"), world.house.tenant)
    repeats = 20 if quick else 60
    turning = _turning_pages(browser)
    yield Row("queue_page_p95_ms", p95_ms(turning, repeats=repeats), "ms", must=500, aim=250)
    repeats = min(repeats, PENDING_PER_AGENT - 1)
    deciding = _deciding(world, browser, repeats + 1)  # one to warm up
    yield Row("decide_p95_ms", p95_ms(deciding, repeats=repeats), "ms", must=400, aim=200)


def _fill(tenant: Tenant) -> None:
    """Every tenth asks for what another asks for too."""
    modes = ("destructive", "network", "delegated")
    ApprovalRequest.objects.bulk_create(
        (
            request_row(
                tenant,
                agent_id=f"agent_of_many_{n % AGENTS}",  # none that calls: it has its limit
                effective_mode=modes[n % 3],
                risk=20 + n % 30,
                likeness=f"sha256:{n - AGENTS if n % 10 == 0 and n >= AGENTS else n}",
            )
            for n in range(WAITING)
        ),
        batch_size=500,
    )


def _turning_pages(browser: Client) -> Any:
    pages = cycle(PAGES)

    def turn() -> None:
        answer = browser.get(QUEUE, next(pages))
        if answer.status_code != 200:
            raise RuntimeError(f"the queue answered {answer.status_code}")
        if b"approvalrequest/apr_" not in answer.content:
            raise RuntimeError("the queue showed nobody waiting")

    return turn


def _deciding(world: GateWorld, browser: Client, count: int) -> Any:
    """Sending the confirm step: all checks, the code of the second factor, the vote, its event, the
    decision, and the call that waited for it, which goes on to a worker."""
    waiting = [world.proposed(key=f"ik_{n:016d}", amount=n + 1)[0] for n in range(count)]

    def decide() -> None:
        request = waiting.pop()
        sent = {"digest": request.digest, "reason": "Checked.", "code": world.code("fin1")}
        answer = browser.post(f"{QUEUE}{request.pk}/approve/", sent)
        if answer.status_code != 302:
            raise RuntimeError(f"the vote answered {answer.status_code}")
        if ToolCall.objects.get(pk=request.subject_id).state == "paused":
            raise RuntimeError("the call does not go on")

    return decide
