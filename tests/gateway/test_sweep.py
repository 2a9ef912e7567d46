"""The sweep: nothing it can't decide keeps it from the rest, and it floods nobody (C12)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from audit.models import Payload
from contextos.celery import app
from contextos.one_at_a_time import one_at_a_time
from gateway import sweep
from gateway.dispatch import RESEND_AFTER
from gateway.leases import lease_to_execute
from gateway.models import ToolCall
from gateway.states import CallState
from gateway.sweep import LONGEST_RESEND, resend_pause, sweep_calls
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready


def _lost_call(world: GatewayWorld, run: dict[str, Any], key: str) -> ToolCall:
    """As after `kill -9`: begun, the lease ran out, and nobody holds it."""
    body = {"run_id": run["run_id"], "capability_id": "notes.add", "args": {"text": "x"}}
    answer = world.post("/api/v1/tool-calls", {**body, "idempotency_key": key})
    call = ToolCall.objects.get(pk=answer.json()["tool_call_id"])
    assert lease_to_execute(call, seconds=1)
    ToolCall.objects.filter(pk=call.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    return call


@pytest.mark.django_db
@pytest.mark.proves("C12")
def test_a_lost_call_that_cannot_be_decided_keeps_no_other_from_being_found() -> None:
    world = ready(GatewayWorld, with_work=True)
    run = world.open_run()
    erased, sound = _lost_call(world, run, "ik_1"), _lost_call(world, run, "ik_2")
    Payload.objects.filter(pk=erased.args_payload).update(sealed=None, erased_at=timezone.now())
    sweep_calls()
    assert ToolCall.objects.get(pk=sound.pk).state == CallState.QUEUED


@pytest.mark.django_db
@pytest.mark.proves("C12")
def test_not_even_a_whole_round_of_calls_that_cannot_be_decided_keeps_the_next_from_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "AT_ONCE", 1)
    world = ready(GatewayWorld, with_work=True)
    run = world.open_run()
    sound, unreadable = _lost_call(world, run, "ik_1"), _lost_call(world, run, "ik_2")
    ToolCall.objects.filter(pk=unreadable.pk).update(
        version_id="adv_gone", lease_until=timezone.now() - timedelta(minutes=1)
    )
    sweep_calls()
    sweep_calls()
    assert ToolCall.objects.get(pk=sound.pk).state == CallState.QUEUED
    assert ToolCall.objects.get(pk=unreadable.pk).state == CallState.EXECUTING


@pytest.mark.parametrize(
    ("state", "age_seconds", "expected"),
    [
        (CallState.QUEUED, 1, RESEND_AFTER),
        (CallState.QUEUED, 29, RESEND_AFTER),
        (CallState.QUEUED, 31, LONGEST_RESEND),
        (CallState.WORKING, 3600, RESEND_AFTER),
    ],
)
def test_a_call_that_waits_in_a_long_queue_is_sent_again_more_rarely(
    state: CallState, age_seconds: int, expected: timedelta
) -> None:
    now = timezone.now()
    call = ToolCall(state=state, created_at=now - timedelta(seconds=age_seconds))
    assert resend_pause(call, now) == expected


def test_the_sweep_never_waits_behind_the_calls() -> None:
    queue = app.amqp.router.route({}, "gateway.tasks.sweep")["queue"]
    assert queue.name != app.conf.task_default_queue
    assert queue.name in app.amqp.queues.consume_from, "a plain worker listens to it"


def test_a_sweep_that_takes_longer_is_not_joined_by_the_next() -> None:
    if not settings.REDIS_URL:
        pytest.skip("without a broker one thread sweeps, one round after the other")
    with one_at_a_time("sweep-test") as first, one_at_a_time("sweep-test") as second:
        assert (first, second) == (True, False)
    with one_at_a_time("sweep-test") as again:
        assert again


def test_late_messages_of_the_sweep_go_by_while_it_rests() -> None:
    if not settings.REDIS_URL:
        pytest.skip("without a broker there are no messages")
    with one_at_a_time("rest-test", rest_seconds=60) as first:
        assert first
    with one_at_a_time("rest-test") as late:
        assert not late


def test_a_worker_whose_clock_is_ten_minutes_fast_still_sweeps() -> None:
    assert settings.CELERY_BEAT_SCHEDULE["sweep-calls"]["options"]["expires"] > 600


def test_without_a_redis_nobody_waits_for_anybody() -> None:
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"), one_at_a_time("x") as first:
        assert first
    with override_settings(REDIS_URL=None), one_at_a_time("x") as first:
        assert first
