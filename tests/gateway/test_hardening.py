"""Holes that a hostile review found, each closed: one test per way in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.decisions import rows_of
from contextos.core.envelopes import ResultStatus
from contextos.core.errors import ContextOSError, coded_error
from gateway.attempts import from_row
from gateway.connectors.function.frames import Patience
from gateway.connectors.function.pool import RunnerPool
from gateway.execution import judged_fault
from gateway.leases import lease_to_execute
from gateway.models import Run, ToolCall
from gateway.reconcile import record_outcome, run_again
from gateway.states import CallState
from gateway.sweep import recover_lost
from gateway.worker import work_on
from registry.services.kill_switches import throw_switch
from tests.gateway.world import GatewayWorld

MODULES = ["tests.gateway.hardening_functions"]


# --- the runner -----------------------------------------------------------------------------------
@pytest.fixture
def pool() -> Iterator[RunnerPool]:
    runners = RunnerPool(MODULES, size=1)
    yield runners
    runners.close()


def _ask(
    pool: RunnerPool,
    name: str,
    args: dict[str, Any],
    *,
    seconds: float = 20.0,
    should_stop: Callable[[], bool] | None = None,
) -> Any:
    call = {"tool_call_id": "tool_1", "tenant_id": "t", "capability_id": "c.d", "attempt": 1}
    request = {"function": f"hardening:{name}", "action": "invoke", "args": args, "call": call}
    return pool.ask(request, Patience(time.monotonic() + seconds, should_stop))


@pytest.mark.proves("A5")
def test_an_answer_nobody_waited_for_never_reaches_the_next_call(pool: RunnerPool) -> None:
    def database_is_gone() -> bool:
        raise RuntimeError("looking for a wish to cancel failed")

    with pytest.raises(RuntimeError, match="wish to cancel"):
        _ask(pool, "slow_echo", {"said": "first", "seconds": 0.8}, should_stop=database_is_gone)
    time.sleep(0.5)  # by now the first answer would lie in the pipe
    assert _ask(pool, "slow_echo", {"said": "second"}) == {"output": {"said": "second"}}


@pytest.mark.proves("C9")
def test_a_call_whose_time_is_over_before_its_runner_stands_is_not_begun(pool: RunnerPool) -> None:
    with pytest.raises(ContextOSError) as refused:
        _ask(pool, "slow_echo", {"said": "late"}, seconds=0.01)
    assert refused.value.code == "function.busy"
    assert _ask(pool, "slow_echo", {"said": "in time"}) == {"output": {"said": "in time"}}


# --- calls that are stopped between two attempts --------------------------------------------------
CALLS = "/api/v1/tool-calls"
needs_runner = [pytest.mark.django_db, pytest.mark.usefixtures("function_runner")]


def _note(world: GatewayWorld, text: str, *, capability: str = "notes.add") -> ToolCall:
    body = {
        "run_id": world.open_run()["run_id"],
        "capability_id": capability,
        "args": {"text": text},
        "idempotency_key": "ik_1",
    }
    answer = world.post(CALLS, body)
    assert answer.status_code == 202, answer.content
    return ToolCall.objects.get(pk=answer.json()["tool_call_id"])


def _worked(call: ToolCall) -> ToolCall:
    ToolCall.objects.filter(pk=call.pk).update(due_at=timezone.now())
    work_on(call.pk)
    call.refresh_from_db()
    return call


def _statuses(call: ToolCall) -> list[str]:
    rows = rows_of(tenant_id=call.tenant_id, decision_id=call.decision_id)
    return [row["status"] for row in rows]


def _throw_switch(world: GatewayWorld) -> None:
    throw_switch(
        tenant_id=world.tenant_id,
        scope="adapter",
        target_id="adp_work",
        reason="Under attack.",
        actor=world.house.actor("operator"),
    )


@pytest.mark.parametrize("how", ["cancelled", "switched_off"])
@pytest.mark.proves("C9", "E1")
class TestStoppedBetweenAttempts:
    """The record must not say `denied` of a write that may have happened."""

    pytestmark = needs_runner

    def _stop(self, world: GatewayWorld, call: ToolCall, how: str) -> ToolCall:
        if how == "cancelled":
            answer = world.post(f"{CALLS}/{call.pk}/cancel", {"reason": "Not wanted."})
            assert answer.status_code == 200, answer.content
            call.refresh_from_db()
            return call
        _throw_switch(world)
        return _worked(call)

    def test_after_an_attempt_that_may_have_happened_the_outcome_is_unknown(
        self, how: str, ledger: list[str]
    ) -> None:
        world = GatewayWorld(with_work=True)
        call = _worked(_note(world, "die after writing"))
        assert (call.state, list(ledger)) == (CallState.QUEUED, ["note ik_1"])
        stopped = self._stop(world, call, how)
        assert stopped.state == CallState.UNKNOWN_OUTCOME
        assert _statuses(call) == ["APPROVED", "UNKNOWN"]
        assert Run.objects.get().reserved_cents == 5
        record_outcome(
            tenant_id=world.tenant_id,
            tool_call_id=call.pk,
            actor=world.house.actor("operator"),
            happened=True,
            evidence="Found the note in the file.",
        )
        assert Run.objects.get().reserved_cents == 0

    def test_after_an_attempt_that_failed_cleanly_nothing_has_happened(self, how: str) -> None:
        world = GatewayWorld(with_work=True)
        call = _worked(_note(world, "fail until 3"))
        assert call.state == CallState.QUEUED
        stopped = self._stop(world, call, how)
        assert stopped.state in (CallState.CANCELLED, CallState.REJECTED)


@pytest.mark.django_db
@pytest.mark.proves("C9")
def test_a_harmless_fault_does_not_clear_an_earlier_attempt_of_doubt() -> None:
    call = _note(GatewayWorld(with_work=True), "hello")
    attempt = from_row(call)
    busy = coded_error("function.busy")
    assert judged_fault(attempt, busy).status is ResultStatus.FAILED
    call.error_code = "function.runner_died"
    assert judged_fault(attempt, busy).status is ResultStatus.UNKNOWN_OUTCOME


# --- keys the adapter has forgotten ---------------------------------------------------------------
def _two_hours_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter of these tests remembers keys for one hour."""
    later = timezone.now() + timedelta(hours=2)
    monkeypatch.setattr("gateway.attempts.utcnow", lambda: later)


def _lost(call: ToolCall) -> None:
    assert lease_to_execute(call, seconds=1)
    ToolCall.objects.filter(pk=call.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.django_db
@pytest.mark.proves("C9")
def test_a_lost_write_is_not_tried_again_once_the_adapter_has_forgotten_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = _note(GatewayWorld(with_work=True), "hello")
    _lost(call)
    _two_hours_later(monkeypatch)
    recover_lost(timezone.now())
    call.refresh_from_db()
    assert call.state == CallState.UNKNOWN_OUTCOME


@pytest.mark.django_db
@pytest.mark.usefixtures("function_runner")
@pytest.mark.proves("C9")
def test_a_retry_that_waited_longer_than_the_adapter_remembers_is_left_to_a_person(
    monkeypatch: pytest.MonkeyPatch, ledger: list[str]
) -> None:
    call = _worked(_note(GatewayWorld(with_work=True), "die after writing"))
    assert call.state == CallState.QUEUED
    _two_hours_later(monkeypatch)
    assert _worked(call).state == CallState.UNKNOWN_OUTCOME
    assert list(ledger) == ["note ik_1"]


@pytest.mark.django_db
@pytest.mark.proves("C9")
def test_an_unknown_outcome_is_not_run_again_once_the_adapter_has_forgotten_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = GatewayWorld(with_work=True)
    call = _note(world, "hello")
    _lost(call)
    ToolCall.objects.update(losses=3)
    recover_lost(timezone.now())
    _two_hours_later(monkeypatch)
    with pytest.raises(ContextOSError) as refused:
        run_again(
            tenant_id=world.tenant_id,
            tool_call_id=call.pk,
            actor=world.house.actor("operator"),
            reason="Let us try once more.",
        )
    assert refused.value.code == "reconcile.not_deduplicated"
