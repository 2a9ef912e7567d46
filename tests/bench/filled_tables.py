"""Whether a call costs more to write down when many have been: a thousand against a million."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from django.db import connection

from audit.models import DecisionBody, DecisionRow, Payload, UnsealedLeaf
from contextos.identity.token_verification import verify_bearer
from contextos.raw_sql import LANE, Lane
from gateway.accepting import accept
from gateway.calls import open_context
from gateway.context import CallContext, CallRequest
from gateway.identity import Caller
from gateway.models import ToolCall
from gateway.pipeline import run_steps
from tests.bench.copied_databases import copied, spoken_to
from tests.bench.measure import settle
from tests.gateway.world import GatewayWorld

_FEW = 1000
_TURNS = 20
_WARMING = 2  # turns that do not count: plans, connections
# Each table with the columns that have to differ from row to row.
_COPIED: dict[Any, tuple[str, ...]] = {
    ToolCall: ("tool_call_id", "decision_id", "args_digest"),
    DecisionRow: ("record_id", "decision_id"),
    DecisionBody: ("record_id",),
    UnsealedLeaf: ("leaf_id",),
    Payload: ("payload_id", "decision_id", "commitment"),
}


def insert_cost_ratio(world: GatewayWorld, *, full: int, calls: int) -> float:
    """The time of a call's one statement among `full` records to that among a thousand.

    Two databases, alike but for that, take turns, and each begins with everything on the disk:
    writing out what was filled in is no part of a call.
    """
    verify_bearer(world.agent_token)  # makes the agent, if it is not made yet, for all copies
    with copied("few") as few, spoken_to(few):
        _emptied()
        accept(_next_call(world, _run_of(world)))
        _filled(1, _FEW)
        with copied("full") as many:
            with spoken_to(many):
                _filled(_FEW + 1, full)
            spent = _in_turns(world, (few, many), calls)
    return statistics.median(spent[1]) / statistics.median(spent[0])


def _in_turns(
    world: GatewayWorld, databases: tuple[Any, Any], calls: int
) -> tuple[list[float], list[float]]:
    """The seconds of every statement in either database; who begins alternates."""
    spent: tuple[list[float], list[float]] = ([], [])
    for database in databases:
        with spoken_to(database):
            settle()
    for turn in range(_TURNS):
        for which in (0, 1) if turn % 2 else (1, 0):
            with spoken_to(databases[which]):
                seconds = _seconds(world, _TimedLane.of(databases[which]), calls // _TURNS)
            if turn >= _WARMING:
                spent[which].extend(seconds)
    return spent


def _seconds(world: GatewayWorld, lane: _TimedLane, calls: int) -> list[float]:
    run_id = _run_of(world)
    contexts = [_next_call(world, run_id) for _ in range(calls)]
    lane.spent = []
    for context in contexts:
        accept(context)
    if len(lane.spent) != calls:
        raise RuntimeError(f"{calls} calls took {len(lane.spent)} statements")
    return lane.spent


def _run_of(world: GatewayWorld) -> str:
    return str(world.open_run()["run_id"])


def _next_call(world: GatewayWorld, run_id: str) -> CallContext:
    """A read as it stands before it is written down."""
    caller = Caller(verify_bearer(world.agent_token), None)
    args = {"order_id": "ord_0001"}
    request = CallRequest(run_id=run_id, capability_id="orders.lookup", args=args)
    return run_steps(open_context(caller=caller, request=request, trace_id="0" * 32))


class _TimedLane(Lane):
    """The way a governed call itself takes to the database, with a watch."""

    __slots__ = ("spent",)

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.spent: list[float] = []

    @classmethod
    def of(cls, wrapper: Any) -> _TimedLane:
        """The one of this connection, from its first statement on."""
        kept = vars(wrapper).get(LANE)
        if not isinstance(kept, cls):
            wrapper.close()
            wrapper.ensure_connection()
            kept = vars(wrapper)[LANE] = cls(wrapper.connection)
        return kept

    def asked(self, text: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
        """As ever."""
        started = time.perf_counter()
        try:
            return super().asked(text, parameters)
        finally:
            self.spent.append(time.perf_counter() - started)


def _emptied() -> None:
    """No calls and no records: their tables refuse this to everybody, so triggers are off."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for model in _COPIED:
            cursor.execute(f'DELETE FROM "{model._meta.db_table}"')
        cursor.execute("SET session_replication_role = origin")
    settle()


def _filled(first: int, last: int) -> None:
    for model, differing in _COPIED.items():
        _multiply(model, differing, first, last)


def _multiply(model: Any, differing: tuple[str, ...], first: int, last: int) -> None:
    """Copies of one row, each with ids of its own that sort before those still to come."""
    table, fields = model._meta.db_table, model._meta.concrete_fields
    columns = [str(field.column) for field in fields]
    texts = [
        f"left('0' || md5(n::text || '{name}') || md5(n::text), {field.max_length})"
        if (name := str(field.column)) in differing
        else f'"{name}"'
        for field in fields
    ]
    listed = ", ".join(f'"{name}"' for name in columns)
    source = f'(SELECT * FROM "{table}" LIMIT 1) row, generate_series({first}, {last}) n'
    with connection.cursor() as cursor:
        cursor.execute(f'INSERT INTO "{table}" ({listed}) SELECT {", ".join(texts)} FROM {source}')
        cursor.execute(f'ANALYZE "{table}"')
