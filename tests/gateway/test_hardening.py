"""Holes that a hostile review found, each closed: one test per way in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from audit.decisions import rows_of
from contextos.core.envelopes import ResultStatus
from contextos.core.errors import ContextOSError, coded_error
from contextos.identity.models import Agent
from gateway.attempts import from_row
from gateway.connectors.function.connector import runner_pool
from gateway.connectors.function.frames import OutOfTime, Patience
from gateway.connectors.function.pool import RunnerPool
from gateway.execution import judged_fault
from gateway.leases import lease_to_execute
from gateway.models import Run, ToolCall
from gateway.reconcile import record_outcome, run_again
from gateway.states import CallState
from gateway.sweep import recover_lost
from gateway.worker import work_on
from registry.services.kill_switches import throw_switch
from tests.architecture.source import ROOT
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready

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


@pytest.mark.proves("A5")
def test_a_function_that_forks_is_answered_once(pool: RunnerPool) -> None:
    assert _ask(pool, "fork", {"said": "first"}) == {"output": {"said": "first"}}
    assert _ask(pool, "slow_echo", {"said": "second"}) == {"output": {"said": "second"}}


@pytest.mark.proves("A5")
def test_what_a_hanging_function_started_ends_with_it(pool: RunnerPool, tmp_path: Path) -> None:
    _ask(pool, "slow_echo", {"said": "warm"})
    with pytest.raises(OutOfTime):
        _ask(pool, "leave_a_helper", {"book": str(tmp_path / "pid")}, seconds=3.0)
    assert _ends(int((tmp_path / "pid").read_text()))


@pytest.mark.proves("A5", "C9")
def test_a_runner_ends_with_the_worker_it_belongs_to(tmp_path: Path) -> None:
    book = tmp_path / "pid"
    script = f"""
import time
from gateway.connectors.function.frames import Patience
from gateway.connectors.function.pool import RunnerPool
call = dict(tool_call_id="tool_1", tenant_id="t", capability_id="c.d", attempt=1)
asked = dict(function="hardening:leave_a_helper", action="invoke", args=dict(book={str(book)!r}))
RunnerPool({MODULES!r}, size=1).ask({{**asked, "call": call}}, Patience(time.monotonic() + 60))
"""
    worker = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    until = time.monotonic() + 30
    while not (book.exists() and book.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    worker.kill()
    worker.wait()
    assert _ends(int(book.read_text()))


@pytest.mark.proves("A5")
def test_what_an_exception_quotes_does_not_reach_the_log(
    pool: RunnerPool, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _ask(pool, "quote", {"said": "hunter2"}) == {"fault": "raised", "message": "ValueError"}
    logged = capfd.readouterr().err
    assert "hardening_functions.py" in logged
    assert "hunter2" not in logged


def _ends(pid: int) -> bool:
    until = time.monotonic() + 5
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


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
        world = ready(GatewayWorld, with_work=True)
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
        world = ready(GatewayWorld, with_work=True)
        call = _worked(_note(world, "fail until 3"))
        assert call.state == CallState.QUEUED
        stopped = self._stop(world, call, how)
        assert stopped.state in (CallState.CANCELLED, CallState.REJECTED)


@pytest.mark.django_db
@pytest.mark.proves("C9")
def test_a_harmless_fault_does_not_clear_an_earlier_attempt_of_doubt() -> None:
    call = _note(ready(GatewayWorld, with_work=True), "hello")
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
    call = _note(ready(GatewayWorld, with_work=True), "hello")
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
    call = _worked(_note(ready(GatewayWorld, with_work=True), "die after writing"))
    assert call.state == CallState.QUEUED
    _two_hours_later(monkeypatch)
    assert _worked(call).state == CallState.UNKNOWN_OUTCOME
    assert list(ledger) == ["note ik_1"]


@pytest.mark.django_db
@pytest.mark.proves("C9")
def test_an_unknown_outcome_is_not_run_again_once_the_adapter_has_forgotten_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ready(GatewayWorld, with_work=True)
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


# --- who has left meanwhile -----------------------------------------------------------------------
def _agent_switched_off(world: GatewayWorld) -> None:
    Agent.objects.filter(pk=world.agent.pk).update(is_active=False)


def _person_left_the_tenant(world: GatewayWorld) -> None:
    person = world.house.user("service")
    person.memberships.update(valid_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.django_db
@pytest.mark.parametrize("leave", [_agent_switched_off, _person_left_the_tenant])
@pytest.mark.proves("C6")
def test_what_waits_in_the_queue_is_not_done_for_somebody_who_has_left(
    leave: Callable[[GatewayWorld], None],
) -> None:
    world = ready(GatewayWorld, with_work=True)
    name = {"delegation": world.user_token}
    run = world.post("/api/v1/runs", world.run_body(), **name).json()
    body = {"run_id": run["run_id"], "capability_id": "notes.add", "args": {"text": "hello"}}
    answer = world.post(CALLS, {**body, "idempotency_key": "ik_1"}, **name)
    leave(world)
    call = _worked(ToolCall.objects.get(pk=answer.json()["tool_call_id"]))
    assert (call.state, call.error_code) == (CallState.REJECTED, "auth.subject_inactive")
    assert _statuses(call) == ["APPROVED", "REJECTED"]


# --- answers to questions of the tool -------------------------------------------------------------
@pytest.fixture
def dying_reports() -> Iterator[Path]:
    runner_pool.cache_clear()
    # Its own module registers names that the other functions have: it is loaded only there.
    book = Path(tempfile.gettempdir()) / f"contextos-test-answers-{os.getpid()}.book"
    book.unlink(missing_ok=True)
    modules = ("tests.gateway.hardening_reports",)
    with override_settings(CONTEXTOS_FUNCTION_MODULES=modules, FUNCTION_RUNNERS=1):
        yield book
        runner_pool().close()
    runner_pool.cache_clear()
    book.unlink(missing_ok=True)


def _asked(world: GatewayWorld) -> ToolCall:
    run_id = world.open_run()["run_id"]
    body = {"run_id": run_id, "capability_id": "reports.build", "args": {"kind": "asks"}}
    call = ToolCall.objects.get(pk=world.post(CALLS, body).json()["tool_call_id"])
    for _ in range(2):
        _worked(call)
    assert call.state == CallState.INPUT_REQUIRED
    return call


@pytest.mark.django_db
@pytest.mark.proves("C14")
def test_an_answer_is_given_to_the_tool_once_also_when_nothing_comes_back(
    dying_reports: Path,
) -> None:
    world = ready(GatewayWorld, with_work=True)
    call = _asked(world)
    answer = {"action": "accept", "content": {"year": 2025}}
    assert world.post(f"{CALLS}/{call.pk}/input", answer).status_code == 202
    for _ in range(3):
        _worked(call)
    assert dying_reports.read_text() == "answered\n"
    assert call.state == CallState.INPUT_REQUIRED, "the tool asks again"


@pytest.mark.django_db
@pytest.mark.usefixtures("dying_reports")
@pytest.mark.proves("B19", "C14")
def test_a_kill_switch_takes_no_more_answers_for_what_it_stopped() -> None:
    world = ready(GatewayWorld, with_work=True)
    call = _asked(world)
    _throw_switch(world)
    answer = world.post(f"{CALLS}/{call.pk}/input", {"action": "accept", "content": {}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "pin.revoked")
    assert world.post(f"{CALLS}/{call.pk}/input", {"action": "decline"}).status_code == 202
