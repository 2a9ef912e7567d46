"""What was true of a caller and its run a moment ago, so that the usual read asks nothing first.

Only a yes may rest on it, and its claim then carries the condition that all of it still holds: one
statement writes the call or, where anything has changed since, nothing at all. Whatever is no yes,
or was not written, is asked anew. So a revoked token, a changed role, a publication, a kill switch,
a breaker, a failure in the run, the end of its budget or an erased context bites on the next call
of every process, as without a memory (A5, C1). What a run holds besides never changes. PostgreSQL
only: an embedded database is never far enough to be worth it.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings
from django.db.models import Exists, F, Subquery, Value

from audit.one_statement import Condition
from contextos.core.errors import ContextOSError
from contextos.core.tokens import VerifiedToken
from contextos.fixed_query import FixedQuery
from contextos.identity.subjects import AGENT_COLUMNS, agent_in, own_agent_rows
from contextos.raw_sql import on_postgresql
from gateway.identity import Caller
from gateway.models import Run
from gateway.run_lookup import circumstances, is_outdated, note_generation

_AT_MOST = 1024
_FOR_SECONDS = 60.0
_LONGEST_CONTEXT = 4096  # bytes: it is held against at every call
_CIRCUMSTANCES = ("generation", "has_failures", "has_breakers")


@dataclass(frozen=True, slots=True)
class Standing:
    """A caller and its run as they were, and the condition that they still are."""

    caller: Caller
    run: Run
    still: Condition


class _Memory:
    """The latest pairs of token and run, for a minute each; a run alone was met once so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[float, Run | Standing]] = OrderedDict()

    def get(self, token_id: str, run_id: str) -> Run | Standing | None:
        until, known = self._kept.get((token_id, run_id), (0.0, None))
        return known if self._clock() < until else None

    def keep(self, token_id: str, run_id: str, known: Run | Standing) -> None:
        now, name = self._clock(), (token_id, run_id)
        with self._lock:
            self._kept[name] = now + _FOR_SECONDS, known
            self._kept.move_to_end(name)
            while len(self._kept) > _AT_MOST or next(iter(self._kept.values()))[0] < now:
                self._kept.popitem(last=False)

    def forget(self, token_id: str, run_id: str) -> None:
        with self._lock:
            self._kept.pop((token_id, run_id), None)


_memory = _Memory()


def meet(caller: Caller, run: Run) -> None:
    """Keep a run that its caller was just let act in: whoever comes a second time comes again."""
    agent = caller.agent
    own = agent.issuer == settings.TOKEN_ISSUER and caller.user is None
    unusual = getattr(run, "has_failures", True) or getattr(run, "has_breakers", True)
    if not own or unusual or not on_postgresql():
        return
    if _memory.get(agent.token_id, run.run_id) is None and _is_short(run.document["context"]):
        _memory.keep(agent.token_id, run.run_id, run)


def standing_of(token: VerifiedToken, run_id: str) -> Standing | None:
    """How the token's agent stood in that run; None where it was not met, or things are unusual."""
    known = _memory.get(token.token_id, run_id)
    standing = _read(token, known) if isinstance(known, Run) else known
    if standing is None or is_outdated(standing.run):
        forget(token, run_id)
        return None
    if standing is not known:
        _memory.keep(token.token_id, run_id, standing)
    return standing


def forget(token: VerifiedToken, run_id: str) -> None:
    """It did not lead to a yes."""
    _memory.forget(token.token_id, run_id)


def _read(token: VerifiedToken, run: Run) -> Standing | None:
    """Everything that may change comes from this one look, and nothing of it from an earlier."""
    asked = {
        "subject": token.subject,
        "tenant_id": run.tenant_id,
        "token_id": token.token_id,
        "run_id": run.run_id,
    }
    row = _STANDING.held_row(**asked)
    if row is None:
        return None
    facts, held = dict(zip(_COLUMNS, row, strict=False)), row[-1]
    note_generation(run.tenant_id, facts["generation"])
    if facts["has_failures"] or facts["has_breakers"] or not facts["has_room"]:
        return None
    try:
        agent = agent_in(row[: len(AGENT_COLUMNS)], token)
    except ContextOSError:
        return None
    own = copy.copy(run)
    vars(own).update({name: facts[name] for name in (*_CIRCUMSTANCES, "waited_ms")})
    own.document = {**run.document, "context": orjson.loads(facts["run_context"])}
    sql, values = _STANDING.still(held, **asked)
    return Standing(Caller(agent, None), own, Condition(name="still", sql=sql, values=values))


def _is_short(context: Any) -> bool:
    return len(orjson.dumps(context)) <= _LONGEST_CONTEXT


def _standing_rows(*, subject: str, tenant_id: str, token_id: str, run_id: str) -> Any:
    """All that a decision rests on and that may change."""
    agents = own_agent_rows(subject=subject, tenant_id=tenant_id, token_id=token_id)
    own = Run.objects.filter(pk=Value(run_id))
    booked = F("spent_cents") + F("reserved_cents")
    room = own.filter(used_calls__lt=F("max_calls"), max_cost_cents__gte=booked)
    known = agents.annotate(
        **circumstances(Value(run_id)),
        has_room=Exists(room),
        waited_ms=Subquery(own.values("waited_ms")),
        run_context=Subquery(own.values("document__context")),
    )
    return known.values_list(*_COLUMNS)


_COLUMNS = (*AGENT_COLUMNS, *_CIRCUMSTANCES, "has_room", "waited_ms", "run_context")
_STANDING = FixedQuery(_standing_rows, "subject", "tenant_id", "token_id", "run_id")
