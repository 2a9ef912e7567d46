"""The function connector against a real runner process: good, bad and ugly callables (A5)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from gateway.connectors.base import Invocation, ReplyKind
from gateway.connectors.function.connector import FunctionConnector
from gateway.connectors.function.pool import RunnerPool

MODULES = ["tests.gateway.connectors.sample_functions"]


@pytest.fixture(scope="module")
def pool() -> Iterator[RunnerPool]:
    runners = RunnerPool(MODULES, size=2)
    yield runners
    runners.close()


@pytest.fixture
def connector(pool: RunnerPool) -> FunctionConnector:
    return FunctionConnector(pool)


def _call(binding: str, *, seconds: float = 20.0, **args: Any) -> Invocation:
    return Invocation(
        tool_call_id="tool_1",
        tenant_id="tenant_one",
        environment="development",
        capability_id="sample.call",
        binding=binding,
        args=args,
        deadline_at=utcnow() + timedelta(seconds=seconds),
        attempt=1,
        idempotency_key="ik_1",
    )


@pytest.mark.proves("A5")
def test_a_function_gets_its_arguments_and_its_answer_comes_back(
    connector: FunctionConnector,
) -> None:
    reply = connector.invoke(_call("echo", order_id="o1"))
    assert reply.kind is ReplyKind.OUTPUT
    assert reply.output == {"args": {"order_id": "o1"}, "key": "ik_1", "attempt": 1}


@pytest.mark.proves("A5")
def test_the_runner_knows_no_secret_and_no_database(
    connector: FunctionConnector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://x")
    monkeypatch.setenv("CONTEXTOS_SECRET_KEY", "s")
    fresh = RunnerPool(MODULES, size=1)
    try:
        seen = FunctionConnector(fresh).invoke(_call("environment")).output
    finally:
        fresh.close()
    assert not [name for name in seen["names"] if "CONTEXTOS" in name or "DATABASE" in name]
    assert seen["django"] is False


def test_an_operator_may_name_variables_for_functions_but_never_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONTEXTOS_SECRET_KEY", "s")
    monkeypatch.setenv("SHOP_REGION", "in-south")
    fresh = RunnerPool(
        MODULES, size=1, also=["SHOP_REGION", "CONTEXTOS_SECRET_KEY", "DATABASE_URL_FILE"]
    )
    try:
        seen = FunctionConnector(fresh).invoke(_call("environment")).output
    finally:
        fresh.close()
    assert "SHOP_REGION" in seen["names"]
    assert "CONTEXTOS_SECRET_KEY" not in seen["names"]


def test_a_tool_that_says_no_is_kept_apart_from_failures(connector: FunctionConnector) -> None:
    reply = connector.invoke(_call("refuse"))
    assert reply.kind is ReplyKind.TOOL_ERROR
    assert reply.error is not None
    assert reply.error["code"] == "TXN_NOT_SETTLED"


@pytest.mark.parametrize(
    ("binding", "code"),
    [
        ("explode", "function.raised"),
        ("die", "function.runner_died"),
        ("garbage", "function.reply_not_json"),
        ("not_a_number", "function.reply_not_json"),
        ("flood", "function.reply_too_large"),
        ("nobody", "function.unknown"),
        ("odd_handle", "function.reply_not_json"),
        ("odd_question", "function.reply_not_json"),
    ],
)
def test_misbehaviour_is_a_coded_error_and_the_next_call_works(
    connector: FunctionConnector, binding: str, code: str
) -> None:
    with pytest.raises(ContextOSError) as refused:
        connector.invoke(_call(binding))
    assert refused.value.code == code
    assert "hunter2" not in str(refused.value.data)
    assert connector.invoke(_call("echo")).kind is ReplyKind.OUTPUT


@pytest.mark.proves("A5")
def test_a_hanging_function_is_killed_at_its_deadline(connector: FunctionConnector) -> None:
    with pytest.raises(ContextOSError) as refused:
        connector.invoke(_call("hang", seconds=1.0))
    assert refused.value.code == "function.timeout"
    assert refused.value.retryable
    assert connector.invoke(_call("echo")).kind is ReplyKind.OUTPUT


def test_what_a_function_prints_does_not_disturb_the_protocol(connector: FunctionConnector) -> None:
    assert connector.invoke(_call("chatty")).output == {"ok": True}


def test_costs_are_reported(connector: FunctionConnector) -> None:
    assert connector.invoke(_call("priced")).cost_cents == 7


@pytest.mark.parametrize("cents", [-5, 1.5, "7", True, 2**60])
def test_a_cost_that_is_none_is_refused_like_any_other_garbage(
    connector: FunctionConnector, cents: Any
) -> None:
    with pytest.raises(ContextOSError) as refused:
        connector.invoke(_call("paid_to_work", cents=cents))
    assert refused.value.code == "function.reply_not_json"
    assert "cents" in refused.value.data["detail"]


def test_a_function_that_reads_its_standard_input_finds_nothing_there(
    connector: FunctionConnector,
) -> None:
    assert connector.invoke(_call("nosy")).output == {"read": ""}


def test_long_work_goes_from_working_to_input_to_output(connector: FunctionConnector) -> None:
    call = _call("long")
    started = connector.invoke(call)
    assert started.kind is ReplyKind.WORKING
    assert started.task is not None
    again = connector.poll(call, started.task["handle"])
    assert again.task == {"handle": {"step": 2}, "poll_after_ms": 5}
    asked = connector.poll(call, again.task["handle"])
    assert asked.kind is ReplyKind.INPUT_REQUIRED
    assert asked.task is not None
    done = connector.give_input(call, asked.task["handle"], {"account": "a1"})
    assert done.output == {"answered": {"account": "a1"}}


def test_a_full_pool_says_busy_before_anything_is_started(pool: RunnerPool) -> None:
    connector = FunctionConnector(pool)
    hangers = [
        threading.Thread(target=_swallow, args=(connector, _call("hang", seconds=3.0)))
        for _ in range(2)
    ]
    for hanger in hangers:
        hanger.start()
    assert _first_refusal(connector) in {"function.busy", "function.timeout"}
    for hanger in hangers:
        hanger.join()


def _first_refusal(connector: FunctionConnector) -> str:
    for _ in range(200):
        try:
            connector.invoke(_call("echo", seconds=0.2))
        except ContextOSError as refused:
            return refused.code
    return "never refused"


def _swallow(connector: FunctionConnector, call: Invocation) -> None:
    with pytest.raises(ContextOSError):
        connector.invoke(call)


def test_a_module_that_cannot_be_imported_is_said_so() -> None:
    broken = RunnerPool(["tests.gateway.connectors.no_such_module"], size=1)
    with pytest.raises(ContextOSError) as refused:
        FunctionConnector(broken).invoke(_call("echo"))
    assert refused.value.code == "function.runner_failed"
