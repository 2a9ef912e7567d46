"""Holes that a hostile review found, each closed: one test per way in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from gateway.connectors.function.frames import Patience
from gateway.connectors.function.pool import RunnerPool

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
