"""Whether a call costs more to write down when many have been: the insert, empty against full."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from django.db import connection

from audit.models import DecisionBody, DecisionRow, Payload, UnsealedLeaf
from contextos.identity.token_verification import verify_bearer
from gateway.accepting import accept
from gateway.calls import open_context
from gateway.context import CallRequest
from gateway.identity import Caller
from gateway.models import ToolCall
from gateway.pipeline import run_steps
from tests.bench.measure import settle
from tests.gateway.world import GatewayWorld

# Each table with the columns that have to differ from row to row.
_COPIED: dict[Any, tuple[str, ...]] = {
    ToolCall: ("tool_call_id", "decision_id", "args_digest"),
    DecisionRow: ("record_id", "decision_id"),
    DecisionBody: ("record_id",),
    UnsealedLeaf: ("leaf_id",),
    Payload: ("payload_id", "decision_id", "commitment"),
}


def insert_cost_ratio(world: GatewayWorld, *, rows: int, repeats: int) -> float:
    """The time of a call's one statement, after `rows` others to before them."""
    before = _seconds(world, repeats)
    for model, differing in _COPIED.items():
        _multiply(model, differing, rows)
    return _seconds(world, repeats) / before


def _seconds(world: GatewayWorld, repeats: int) -> float:
    """The tenth percentile: the two are measured apart, and a busy machine only ever adds.

    Each begins with everything on the disk: writing out what was filled in is no part of a call.
    """
    settle()
    caller = Caller(verify_bearer(world.agent_token), None)
    request = CallRequest(
        run_id=world.open_run()["run_id"],
        capability_id="orders.lookup",
        args={"order_id": "ord_0001"},
    )
    spent: list[float] = []
    for _ in range(repeats):
        context = run_steps(open_context(caller=caller, request=request, trace_id="0" * 32))
        with connection.execute_wrapper(_stopwatch(spent)):
            accept(context)
    return statistics.quantiles(spent, n=10)[0]


def _stopwatch(spent: list[float]) -> Callable[..., Any]:
    def timed(execute: Callable[..., Any], *arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            spent.append(time.perf_counter() - started)

    return timed


def _multiply(model: Any, differing: tuple[str, ...], rows: int) -> None:
    """Copies of one row, each with ids of its own that sort before those still to come."""
    table, fields = model._meta.db_table, model._meta.concrete_fields
    columns = [str(field.column) for field in fields]
    copied = [
        f"left('0' || md5(n::text || '{name}') || md5(n::text), {field.max_length})"
        if (name := str(field.column)) in differing
        else f'"{name}"'
        for field in fields
    ]
    listed = ", ".join(f'"{name}"' for name in columns)
    source = f'(SELECT * FROM "{table}" LIMIT 1) row, generate_series(1, {rows}) n'
    with connection.cursor() as cursor:
        cursor.execute(f'INSERT INTO "{table}" ({listed}) SELECT {", ".join(copied)} FROM {source}')
        cursor.execute(f'ANALYZE "{table}"')
