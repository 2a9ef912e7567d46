"""Breakers: opening, probing, closing, by hand; fallbacks and places (C12)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from audit.decisions import rows_of
from audit.models import AuditEvent
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway import breaker
from gateway.adapter_terms import Terms, set_terms, terms_of, usual_terms
from gateway.breaker import note_outcome, reset_breaker, waiting_time
from gateway.connectors.base import Reply, ReplyKind
from gateway.connectors.function.connector import runner_pool
from gateway.models import Alert, Breaker, IdempotencyKey, ToolCall
from gateway.states import BreakerState, CallState
from gateway.worker import work_on
from tests.factories import make_tenant
from tests.gateway.shaky_functions import MOOD
from tests.gateway.shaky_world import ShakyWorld, feels, shaky_world

ADAPTER = "adp_shaky"
QUICK: dict[str, Any] = {
    "failures": 3,
    "failure_percent": 50,
    "window_seconds": 30,
    "open_seconds": 15,
    "probes": 1,
    "at_once": 8,
}


@pytest.fixture(scope="module", autouse=True)
def _runner() -> Iterator[None]:
    runner_pool.cache_clear()
    with override_settings(
        CONTEXTOS_FUNCTION_MODULES=("tests.gateway.shaky_functions",),
        FUNCTION_RUNNERS=3,
        ADAPTER_TERMS=QUICK,
        REDIS_URL=None,
    ):
        yield
        runner_pool().close()
    runner_pool.cache_clear()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Nothing of one test is known to the next."""
    breaker._successes.clear()
    breaker._probing.clear()
    feels("well")
    yield
    MOOD.unlink(missing_ok=True)


def _fail(world: ShakyWorld, run: dict[str, Any], times: int = 3) -> None:
    """Each with other arguments: the loop guard is not what is tested here."""
    feels("broken")
    for number in range(times):
        answer = world.call(run, args={"item": f"bad {number}"})
        assert (answer.status_code, answer.json()["status"]) == (200, "failed")


def _rested() -> None:
    """The breaker's rest is over."""
    row = Breaker.objects.get()
    assert row.retry_at is not None
    Breaker.objects.update(retry_at=row.retry_at - timedelta(minutes=30))


# --- opening and closing --------------------------------------------------------------------------
@pytest.mark.proves("C12")
@pytest.mark.django_db
def test_failures_open_the_breaker_a_probe_closes_it_and_a_replay_passes() -> None:
    world = shaky_world()
    run = world.open_run()
    kept = world.call(run, idempotency_key="ik_kept").json()
    _fail(world, run)
    refused = world.call(run, idempotency_key="ik_refused")
    error = refused.json()["error"]
    assert (refused.status_code, error["kind"], error["code"], error["retryable"]) == (
        503,
        "circuit_open",
        "circuit.open",
        True,
    )
    assert 0 < error["retry_after_ms"] <= 15_000
    assert int(refused.headers["Retry-After"]) == -(-error["retry_after_ms"] // 1000)
    assert IdempotencyKey.objects.count() == 1
    again = world.call(run, idempotency_key="ik_kept")
    assert again.json() == {**kept, "replayed": True}
    # Other adapters go on; this one is probed once its rest is over.
    assert world.call(run, "steady.read").status_code == 200
    feels("well")
    _rested()
    assert world.call(run).json()["status"] == "ok"
    assert Breaker.objects.get().state == BreakerState.CLOSED
    actions = AuditEvent.objects.filter(subject_kind="adapter").order_by("event_id")
    assert list(actions.values_list("action", flat=True))[-2:] == [
        "gateway.breaker.opened",
        "gateway.breaker.closed",
    ]
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject) == ("breaker_open", ADAPTER)


@pytest.mark.django_db
def test_a_probe_that_fails_rests_twice_as_long_and_alerts_no_more() -> None:
    world = shaky_world()
    run = world.open_run()
    _fail(world, run)
    _rested()
    assert world.call(run, args={"item": "probe"}).json()["status"] == "failed"
    row = Breaker.objects.get()
    assert (row.state, row.opens) == (BreakerState.OPEN, 2)
    assert row.retry_at is not None
    assert row.opened_at is not None
    assert row.retry_at - row.opened_at == timedelta(seconds=30)
    assert Alert.objects.count() == 1


@pytest.mark.django_db
def test_what_the_tool_itself_says_no_to_is_no_failure_of_the_adapter() -> None:
    world = shaky_world()
    run = world.open_run()
    feels("refusing")
    for number in range(4):
        assert world.call(run, args={"item": str(number)}).json()["error"]["code"] == "NOT_TODAY"
        assert world.call(run, args={"item": number}).status_code == 422
    assert not Breaker.objects.exists()


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("egress.connect_failed", True),
        ("egress.unresolvable", True),
        ("egress.deadline", True),
        ("function.timeout", True),
        ("function.runner_died", True),
        ("function.busy", False),
        ("call.cancelled", False),
        ("egress.host_not_allowed", False),
        ("auth.missing", False),
        ("function.unknown", False),
    ],
)
def test_only_transport_and_upstream_count(code: str, *, counts: bool) -> None:
    assert breaker.is_failure(coded_error(code)) is counts


@pytest.mark.django_db
def test_a_few_failures_among_many_answers_do_not_open_it() -> None:
    tenant = make_tenant().pk
    for _ in range(20):
        note_outcome(tenant, ADAPTER, Reply(kind=ReplyKind.OUTPUT))
    for _ in range(3):
        note_outcome(tenant, ADAPTER, coded_error("function.timeout"))
    row = Breaker.objects.get()
    assert (row.state, row.failures, row.calls) == (BreakerState.CLOSED, 3, 23)


@pytest.mark.django_db
def test_answers_of_an_hour_ago_do_not_hold_it_closed() -> None:
    tenant, now = make_tenant().pk, utcnow()
    with time_machine.travel(now - timedelta(hours=1), tick=False):
        for _ in range(500):
            note_outcome(tenant, ADAPTER, Reply(kind=ReplyKind.OUTPUT))
    with time_machine.travel(now, tick=False):
        note_outcome(tenant, ADAPTER, Reply(kind=ReplyKind.OUTPUT))
        for _ in range(3):
            note_outcome(tenant, ADAPTER, coded_error("function.timeout"))
    row = Breaker.objects.get()
    assert (row.state, row.failures, row.calls) == (BreakerState.OPEN, 3, 4)


@pytest.mark.django_db
def test_an_adapter_that_never_fails_takes_no_room() -> None:
    tenant, began = make_tenant().pk, utcnow()
    with time_machine.travel(began, tick=False) as clock:
        for _ in range(3 * 3600):
            note_outcome(tenant, ADAPTER, Reply(kind=ReplyKind.OUTPUT))
            clock.shift(1)
    assert len(breaker._successes[tenant, ADAPTER]) <= 2 * 3600


@pytest.mark.django_db
def test_old_failures_do_not_add_up() -> None:
    tenant = make_tenant().pk
    for _ in range(5):
        note_outcome(tenant, ADAPTER, coded_error("function.timeout"))
        row = Breaker.objects.get()
        Breaker.objects.update(window_started_at=row.window_started_at - timedelta(seconds=31))
    assert (row.state, row.failures) == (BreakerState.CLOSED, 1)


@pytest.mark.django_db
def test_one_tenant_s_breaker_is_no_other_s() -> None:
    ours, theirs = make_tenant().pk, make_tenant().pk
    for _ in range(3):
        note_outcome(ours, ADAPTER, coded_error("function.timeout"))
    assert waiting_time(ours, ADAPTER) is not None
    assert waiting_time(theirs, ADAPTER) is None


@pytest.mark.proves("C12")
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_racing_failures_open_it_once_and_racing_probes_get_the_places_there_are() -> None:
    tenant = make_tenant().pk
    fault = coded_error("function.timeout")
    _at_once(16, lambda: note_outcome(tenant, ADAPTER, fault))
    row = Breaker.objects.get()
    assert (row.state, row.opens) == (BreakerState.OPEN, 1)
    assert Alert.objects.count() == 1
    assert AuditEvent.objects.filter(action="gateway.breaker.opened").count() == 1
    with override_settings(ADAPTER_TERMS={**QUICK, "probes": 3}):
        _rested()
        waits = _at_once(16, lambda: waiting_time(tenant, ADAPTER))
    assert waits.count(None) == 3


@pytest.mark.django_db
def test_probes_that_were_never_heard_of_again_make_room() -> None:
    tenant = make_tenant().pk
    for _ in range(3):
        note_outcome(tenant, ADAPTER, coded_error("function.timeout"))
    _rested()
    assert waiting_time(tenant, ADAPTER) is None
    assert waiting_time(tenant, ADAPTER) == breaker.WHILE_PROBING
    _rested()
    assert waiting_time(tenant, ADAPTER) is None


@pytest.mark.proves("C12")
@pytest.mark.django_db
def test_a_late_answer_does_not_close_what_another_probe_found_broken() -> None:
    tenant, fault = make_tenant().pk, coded_error("function.timeout")
    for _ in range(3):
        note_outcome(tenant, ADAPTER, fault)
    with override_settings(ADAPTER_TERMS={**QUICK, "probes": 2}):
        _rested()
        assert [waiting_time(tenant, ADAPTER) for _ in "ab"] == [None, None]
    note_outcome(tenant, ADAPTER, fault)
    breaker._probing.add((tenant, ADAPTER))  # as in the process whose probe is still under way
    note_outcome(tenant, ADAPTER, Reply(kind=ReplyKind.OUTPUT))
    row = Breaker.objects.get()
    assert (row.state, row.opens) == (BreakerState.OPEN, 2)


@pytest.mark.proves("C12")
@pytest.mark.django_db
def test_a_healthy_call_makes_no_statement_for_the_breaker() -> None:
    world = shaky_world()
    run = world.open_run()
    world.call(run)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        world.call(run)
    table = Breaker._meta.db_table
    about = [q["sql"] for q in queries if table in q["sql"]]
    assert about
    # Asked together with the run, or with the caller whom the claim rests on.
    assert all("gateway_run" in sql or "identity_agent" in sql for sql in about)
    if connection.vendor == "postgresql":
        assert len(queries) == 3


@pytest.mark.django_db
def test_accepted_work_waits_for_the_breaker_instead_of_failing() -> None:
    world = shaky_world()
    run = world.open_run()
    accepted = world.call(run, "shaky.write", idempotency_key="ik_w").json()["tool_call_id"]
    _fail(world, run)
    assert world.call(run, "shaky.write", idempotency_key="ik_2").status_code == 503
    assert work_on(accepted)
    call = ToolCall.objects.get(pk=accepted)
    assert (call.state, call.attempts) == (CallState.QUEUED, 0)
    assert call.due_at == Breaker.objects.get().retry_at or call.due_at is not None
    feels("well")
    _rested()
    assert work_on(accepted)
    call.refresh_from_db()
    assert (call.state, Breaker.objects.get().state) == (CallState.OK, BreakerState.CLOSED)


# --- by hand --------------------------------------------------------------------------------------
@pytest.mark.proves("C12")
@pytest.mark.django_db
def test_an_operator_closes_it_with_a_reason_that_is_recorded() -> None:
    world = shaky_world()
    run = world.open_run()
    _fail(world, run)
    actor = world.house.actor("operator")
    with pytest.raises(ContextOSError, match=r"adapter\.reason_missing"):
        reset_breaker(tenant_id=world.tenant_id, adapter_id=ADAPTER, reason=" ", actor=actor)
    feels("well")
    reset_breaker(tenant_id=world.tenant_id, adapter_id=ADAPTER, reason="It is back.", actor=actor)
    assert world.call(run).status_code == 200
    event = AuditEvent.objects.get(action="gateway.breaker.closed")
    assert "It is back." in event.text
    with pytest.raises(ContextOSError, match=r"breaker\.already_closed"):
        reset_breaker(tenant_id=world.tenant_id, adapter_id=ADAPTER, reason="x", actor=actor)
    stranger = ShakyWorld().house.actor("operator")
    with pytest.raises(ContextOSError, match=r"tenant\.forbidden"):
        reset_breaker(tenant_id=world.tenant_id, adapter_id=ADAPTER, reason="x", actor=stranger)


@pytest.mark.django_db
def test_terms_that_a_person_set_hold_for_the_next_call() -> None:
    world = shaky_world()
    run = world.open_run()
    world.call(run)
    strict = Terms(**{**QUICK, "failures": 1})
    set_terms(
        tenant_id=world.tenant_id,
        adapter_id=ADAPTER,
        terms=strict,
        reason="It fails rarely, and then for long.",
        actor=world.house.actor("operator"),
    )
    assert terms_of(world.tenant_id, ADAPTER) == strict
    assert terms_of(world.tenant_id, "adp_steady") == usual_terms()
    _fail(world, run, times=1)
    assert world.call(run).status_code == 503


# --- degraded routing -----------------------------------------------------------------------------
@pytest.mark.proves("C12")
@pytest.mark.django_db
def test_a_read_goes_to_its_declared_fallback_and_says_so() -> None:
    world = shaky_world(fallback_capability="steady.read")
    run = world.open_run()
    _fail(world, run)
    answer = world.call(run, idempotency_key="ik_1")
    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "ok")
    assert body["output"] == {"item": "a", "from": "steady"}
    assert (body["capability_id"], body["adapter"]["adapter_id"]) == ("steady.read", "adp_steady")
    assert body["critic"]["verdict"] == "accept"
    assert [finding["code"] for finding in body["critic"]["findings"]] == ["fallback.used"]
    envelope = world.get(f"/api/v1/tool-calls/{body['tool_call_id']}").json()["call"]
    assert envelope["metadata"] == {"fallback_for": "shaky.read"}
    for row in rows_of(tenant_id=world.tenant_id, decision_id=body["decision_id"]):
        assert "fallback_for:shaky.read" in row["controls_active"]
    # The key is that of the call that was asked for.
    again = world.call(run, idempotency_key="ik_1").json()
    assert again == {**body, "replayed": True}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fallback", "permitted"),
    [
        ("steady.read", ("shaky.read", "shaky.write")),  # not in the run's manifest
        ("shaky.write", ()),  # a write
        ("shaky.nothing", ()),  # not there at all
    ],
)
def test_without_a_permitted_read_the_breaker_s_refusal_stands(
    fallback: str, permitted: tuple[str, ...]
) -> None:
    world = shaky_world(permitted=permitted, fallback_capability=fallback)
    run = world.open_run()
    _fail(world, run)
    answer = world.call(run)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "circuit.open")


# --- places ---------------------------------------------------------------------------------------
@pytest.mark.proves("C12")
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@override_settings(ADAPTER_TERMS={**QUICK, "at_once": 2})
def test_a_slow_adapter_keeps_its_places_and_the_others_go_on() -> None:
    world = shaky_world()
    run = world.open_run()
    world.call(run), world.call(run, "steady.read")
    feels("slow 4")
    with ThreadPoolExecutor(6) as pool:
        slow = [pool.submit(_closing, lambda: world.call(run)) for _ in range(5)]
        time.sleep(0.5)
        fast = [
            pool.submit(_closing, lambda: world.call(run, "steady.read")).result() for _ in "abc"
        ]
        still_waiting = sum(not future.done() for future in slow)
        answers = [future.result() for future in slow]
    assert [answer.status_code for answer in fast] == [200, 200, 200]
    assert still_waiting == 2  # those in the two places; nobody else waited for them
    assert sorted(answer.status_code for answer in answers) == [200, 200, 503, 503, 503]
    busy = next(answer for answer in answers if answer.status_code == 503)
    assert (busy.json()["error"]["code"], busy.headers["Retry-After"]) == ("adapter.busy", "1")
    feels("well")
    assert world.call(run).status_code == 200  # every place was given back


def _closing(call: Callable[[], Any]) -> Any:
    try:
        return call()
    finally:
        connection.close()


def _at_once(count: int, call: Callable[[], Any]) -> list[Any]:
    barrier = threading.Barrier(count)

    def one(_: int) -> Any:
        barrier.wait(30)
        return _closing(call)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))
