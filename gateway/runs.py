"""Opening a run: identity from the tokens, packs and pins as of now, a mode and a budget (C6)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from audit.services import record_event
from contextos.core.canonical import canonicalise
from contextos.core.clock import format_time, parse_time, utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import new_id
from contextos.core.modes import ApprovalMode, exceeds, parse_mode
from contextos.identity.models import Environment, Tenant
from gateway.identity import Caller, require_agreement
from gateway.models import Run
from registry.compiled import CompiledRun, RunTerms, compiled_for, packs_for_run, pins_for_run
from registry.selectors import generation_of


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may use up. Waiting for people does not count in `max_wall_ms`."""

    max_calls: int
    max_cost_cents: int
    max_wall_ms: int
    expires_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """The `run_budget` member of a RunContext."""
        return {
            "max_calls": self.max_calls,
            "max_cost_cents": self.max_cost_cents,
            "max_wall_ms": self.max_wall_ms,
            "expires_at": format_time(self.expires_at),
        }


@transaction.atomic
def open_run(*, caller: Caller, body: Mapping[str, Any], trace_id: str) -> Run:
    """Open a run on today's versions; whatever is wider than the tokens is refused."""
    tenant_id = caller.tenant_id
    if body["tenant_id"] != tenant_id:
        raise coded_error("auth.tenant_mismatch")
    require_agreement(body.get("agent"), caller.agent_facts(), member="agent")
    require_agreement(body.get("user"), caller.user_facts(), member="user")
    canonicalise({"context": body.get("context")})  # every decision of the run repeats it
    tenant = Tenant.objects.get(pk=tenant_id)
    environment = _environment(tenant, body.get("environment"))
    generation = generation_of(tenant_id)
    packs = _packs(caller, body, generation)
    pins = pins_for_run(
        tenant_id=tenant_id, environment=environment, generation=generation, pack_refs=packs
    )
    moment = utcnow()
    budget = _budget(body.get("run_budget") or {}, moment, run_limits(tenant))
    run = Run(
        run_id=new_id("run"),
        tenant_id=tenant_id,
        agent_id=caller.agent.id,
        user_id=caller.user_id,
        intent=body["intent"],
        environment=environment,
        safety_mode=_safety_mode(caller, body.get("safety_mode")).value,
        trace_id=trace_id,
        salt=secrets.token_bytes(32),
        packs=list(packs),
        pins=pins,
        max_calls=budget.max_calls,
        max_cost_cents=budget.max_cost_cents,
        max_wall_ms=budget.max_wall_ms,
        expires_at=budget.expires_at,
        created_at=moment,
    )
    run.document = _document(run, caller, budget, body)
    run.save(force_insert=True)
    record_event(
        tenant_id=tenant_id,
        action="run.opened",
        actor=caller.agent.as_actor(),
        subject_kind="run",
        subject_id=run.run_id,
        data={"intent": run.intent, "environment": environment, "user_id": run.user_id},
        trace_id=trace_id,
    )
    return run


def find_run(*, caller: Caller, run_id: str) -> Run:
    """A run of this very caller; anybody else's does not exist."""
    run = Run.objects.filter(pk=run_id, **caller.columns).first()
    if run is None:
        raise coded_error("run.unknown")
    return run


def compiled_run(run: Run) -> CompiledRun:
    """What the run may call, as of the registry's present generation."""
    return compiled_for(terms_of(run), generation_of(run.tenant_id))


def terms_of(run: Run) -> RunTerms:
    """What a run was opened on; with a generation it says what the run may call."""
    return RunTerms.of(
        tenant_id=run.tenant_id,
        environment=run.environment,
        intent=run.intent,
        role=run.document["agent"]["role"],
        pack_refs=run.packs,
        pins=run.pins,
    )


def run_limits(tenant: Tenant) -> dict[str, int]:
    """What a run of the tenant gets, and may ask for at most."""
    wall = tenant.run_max_wall_seconds
    stated = {
        "max_calls": tenant.run_max_calls,
        "max_cost_cents": tenant.run_max_cost_cents,
        "max_wall_ms": None if wall is None else wall * 1000,
        "lifetime_seconds": tenant.run_lifetime_seconds,
    }
    return {name: settings.RUN_BUDGET[name] if v is None else v for name, v in stated.items()}


def _environment(tenant: Tenant, asked: str | None) -> str:
    name = asked or tenant.default_environment
    known = Environment.objects.filter(tenant=tenant, name=name, is_active=True)
    if not known.exists():
        raise coded_error("run.environment_unknown", data={"environment": name})
    return name


def _packs(caller: Caller, body: Mapping[str, Any], generation: int) -> tuple[str, ...]:
    packs = packs_for_run(
        tenant_id=caller.tenant_id,
        intent=body["intent"],
        generation=generation,
        asked=body.get("context_pack_refs"),
    )
    if not packs:
        raise coded_error("run.no_pack", data={"intent": body["intent"][:200]})
    return packs


def _safety_mode(caller: Caller, asked: str | None) -> ApprovalMode:
    highest = caller.max_mode
    mode = parse_mode(asked) if asked else highest
    if exceeds(mode, highest):
        raise coded_error(
            "run.mode_above_token", data={"asked": mode.value, "highest": highest.value}
        )
    return mode


def _budget(asked: Mapping[str, Any], now: datetime, limits: Mapping[str, int]) -> Budget:
    until = now + timedelta(seconds=limits["lifetime_seconds"])
    expires_at = _moment(asked["expires_at"]) if "expires_at" in asked else until
    if not now < expires_at <= until:
        raise coded_error("run.budget_invalid", data={"latest": format_time(until)})
    numbers = {
        name: _number(name, asked.get(name, limits[name]), limits[name])
        for name in ("max_calls", "max_cost_cents", "max_wall_ms")
    }
    return Budget(**numbers, expires_at=expires_at)


def _moment(text: str) -> datetime:
    try:
        return parse_time(text)
    except ContextOSError as fault:
        raise coded_error("run.budget_invalid", message=fault.message) from None


def _number(name: str, asked: int, limit: int) -> int:
    if asked > limit:
        raise coded_error("run.budget_invalid", data={"member": name, "at_most": limit})
    return asked


def _document(run: Run, caller: Caller, budget: Budget, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "trace_id": run.trace_id,
        "tenant_id": run.tenant_id,
        "user": caller.user_facts(),
        "agent": caller.agent_facts(),
        "principal_chain": [principal.as_dict() for principal in caller.chain],
        "intent": run.intent,
        "context_pack_refs": list(run.packs),
        "environment": run.environment,
        "session_id": body.get("session_id"),
        "safety_mode": run.safety_mode,
        "run_budget": budget.as_dict(),
        "context": dict(body.get("context") or {}),
        "pins": dict(run.pins),
    }
