"""Ten thousand decisions replay equal, fast enough to be done every night, with no egress (E4)."""

from __future__ import annotations

import socket  # noqa: TID251  to forbid it
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from contextos.core.clock import utcnow
from contextos.core.events import automation
from contextos.core.modes import ApprovalMode
from contextos.identity.principals import Principal
from gateway.accepting import accept
from gateway.attempts import from_context
from gateway.calls import open_context
from gateway.connectors.base import Reply, ReplyKind
from gateway.context import CallContext, CallRequest
from gateway.ending import Ending, finish
from gateway.execution import judged_reply
from gateway.identity import Caller
from gateway.models import Run
from gateway.pipeline import run_steps
from gateway.replaying.batches import ReplayTally, replay_period
from gateway.replaying.periods import Period
from tests.gateway.replaying.story import StoryWorld

pytestmark = [pytest.mark.django_db, pytest.mark.scale, pytest.mark.proves("E4")]
MANY = 10_000
AT_MOST_CPU_MS = 8.0  # for one decision; far less where nothing else runs


def _caller(world: StoryWorld) -> Caller:
    principal = Principal(
        kind="agent",
        id=world.agent.agent_id,
        tenant_id=world.tenant_id,
        display="",
        roles=(world.agent.role,),
        scopes=None,
        max_mode=ApprovalMode.DESTRUCTIVE,
        token_id="tok_test",
        auth_ref="claim_hash:sha256:" + "0" * 64,
        issuer="tests",
        expires_at=utcnow() + timedelta(hours=1),
    )
    return Caller(principal, None)


def _decided(world: StoryWorld) -> CallContext:
    """A read that passed every step, with what the run had before it."""
    Run.objects.update(max_calls=10**6)
    request = CallRequest(
        run_id=world.run["run_id"],
        capability_id="orders.lookup",
        args={"order_id": "ord_0001"},
    )
    return run_steps(open_context(caller=_caller(world), request=request, trace_id=f"{1:032x}"))


@transaction.atomic
def _record(world: StoryWorld, count: int) -> None:
    """Accepted and ended as the gateway does it, with the answer at hand instead of a tool."""
    context, answer = _decided(world), {"order_id": "ord_0001", "status": "delivered"}
    reply = Reply(kind=ReplyKind.OUTPUT, output=answer, upstream_status="ok")
    for _ in range(count):
        accepted = accept(replace(context, now=utcnow()))
        assert accepted is not None
        attempt = from_context(context, accepted)
        finish(attempt, judged_reply(attempt, reply), Ending(latency_ms=3))


def test_ten_thousand_decisions_replay_equal_without_egress(
    world: StoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    _record(world, MANY)
    tried: list[Any] = []
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, lambda *args: tried.append(args))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **_: tried.append(args))
    period = Period(utcnow() - timedelta(days=1), utcnow())
    working = time.process_time()
    tally = replay_period(tenant_id=world.tenant_id, period=period, actor=automation("tests"))
    each = 1000 * (time.process_time() - working) / tally.total
    assert isinstance(tally, ReplayTally)
    assert tally.total >= MANY
    assert tally.all_equal, tally.examples[:3]
    assert tried == []
    assert each < AT_MOST_CPU_MS, f"{each:.2f} ms of CPU for each decision"
