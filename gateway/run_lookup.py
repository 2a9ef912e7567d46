"""Finds the caller's own run, with what a call has to know beside it, in one statement."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from contextos.fixed_query import FixedQuery
from gateway.identity import Caller
from gateway.models import Breaker, Run, ToolCall
from gateway.states import BreakerState, CallState
from registry.models import RegistryGeneration


def run_of_caller(caller: Caller, run_id: str) -> Run | None:
    """The run as this very caller opened it; anybody else's does not exist.

    Also says `generation`, the registry's number that caches are filled at, and `has_failures`,
    so that the loop guard costs the usual call nothing; `has_breakers` does the same for the
    breakers of the tenant that are not closed.
    """
    run = _OWN_RUN.model(run_id=run_id, **caller.columns)
    if run is not None:
        note_generation(run.tenant_id, getattr(run, "generation", None))
    return run


def note_generation(tenant_id: str, generation: int | None) -> None:
    """Remember the number that this process read last."""
    _last_read[tenant_id] = generation or 0


def is_outdated(run: Run) -> bool:
    """Whether a run was read at a generation that this process knows to be over: what is built
    for such a number would take the place of what is built for today's."""
    generation: int = getattr(run, "generation", None) or 0
    return generation != _last_read.get(run.tenant_id, generation)


_last_read: dict[str, int] = {}


def _own_run(*, run_id: str, tenant_id: str, agent_id: str, user_id: str) -> QuerySet[Run]:
    own = Run.objects.filter(
        run_id=run_id, tenant_id=tenant_id, agent_id=agent_id, user_id=user_id
    ).annotate(**circumstances(OuterRef("pk")))
    return own.order_by()


def circumstances(run_id: Any) -> dict[str, Any]:
    """What a call has to know beside its run, for any query over rows of one tenant."""
    generation = RegistryGeneration.objects.filter(tenant_id=OuterRef("tenant_id"))
    failures = ToolCall.objects.filter(run=run_id, state=CallState.FAILED)
    breakers = Breaker.objects.filter(tenant_id=OuterRef("tenant_id"))
    breakers = breakers.exclude(state=BreakerState.CLOSED)
    return {
        "generation": Subquery(generation.values("number")[:1]),
        "has_failures": Exists(failures),
        "has_breakers": Exists(breakers),
    }


_OWN_RUN = FixedQuery(_own_run, "run_id", "tenant_id", "agent_id", "user_id")
