"""Changes to agents."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.modes import ApprovalMode, parse_mode
from contextos.identity.access import roles_of
from contextos.identity.actors import require_authority
from contextos.identity.callbacks import (
    callback_facts,
    require_sound_callback,
    seal_secret,
    set_callback,
)
from contextos.identity.changes import apply_changes, lock
from contextos.identity.events import record_event
from contextos.identity.models import Agent, Tenant, User


@transaction.atomic
def register_agent(
    *,
    tenant_id: str,
    agent_id: str,
    name: str,
    role: str,
    owner: User,
    actor: Actor,
    max_mode: str = ApprovalMode.READ_ONLY.value,
    agent_urn: str = "",
    workload_identity: str = "",
    callback_url: str = "",
    callback_secret: str = "",
) -> Agent:
    """Make a workload known, with a person who answers for it."""
    require_authority(actor, tenant_id)
    _require_owner_inside(owner, tenant_id)
    agent = Agent(
        tenant=lock(Tenant, tenant_id),
        agent_id=agent_id,
        name=name,
        role=role,
        owner=owner,
        max_mode=parse_mode(max_mode).value,
        agent_urn=agent_urn,
        workload_identity=workload_identity,
        callback_url=callback_url,
    )
    if callback_secret:
        agent.sealed_callback_secret = seal_secret(agent, callback_secret)
    require_sound_callback(agent)
    agent.full_clean()
    agent.save(force_insert=True)
    data: dict[str, Any] = {
        "name": name,
        "role": role,
        "max_mode": agent.max_mode,
        "owner": owner.user_id,
    }
    if callback_url:
        data["callback"] = callback_facts(agent)
    _record(agent, "identity.agent.registered", actor, data=data)
    return agent


@transaction.atomic
def update_agent(
    *,
    agent_pk: int,
    actor: Actor,
    name: str,
    role: str,
    owner: User,
    max_mode: str,
    agent_urn: str,
    workload_identity: str,
    callback_url: str | None = None,
    callback_secret: str = "",
) -> Agent:
    """Change an agent; a lowered mode counts for tokens already issued.

    `callback_url` None and an empty secret leave what there is.
    """
    agent = lock(Agent, agent_pk)
    require_authority(actor, agent.tenant_id)
    if owner.pk != agent.owner_id:
        _require_owner_inside(owner, agent.tenant_id)
    changes = apply_changes(
        agent,
        name=name,
        role=role,
        owner=owner,
        max_mode=parse_mode(max_mode).value,
        agent_urn=agent_urn,
        workload_identity=workload_identity,
    )
    told = set_callback(agent, url=callback_url, secret=callback_secret)
    if changes or told:
        _record(agent, "identity.agent.changed", actor, data={**changes, **told})
    return agent


@transaction.atomic
def set_agent_active(*, agent_pk: int, active: bool, actor: Actor, reason: str = "") -> Agent:
    """Switch an agent off or on; off, none of its tokens is accepted."""
    agent = lock(Agent, agent_pk)
    require_authority(actor, agent.tenant_id)
    if apply_changes(agent, is_active=active):
        verb = "activated" if active else "deactivated"
        _record(agent, f"identity.agent.{verb}", actor, reason=reason)
    return agent


def _require_owner_inside(owner: User, tenant_id: str) -> None:
    if not roles_of(owner, tenant_id):
        raise coded_error("agent.owner_outside")


def _record(
    agent: Agent,
    action: str,
    actor: Actor,
    *,
    reason: str = "",
    data: dict[str, Any] | None = None,
) -> None:
    record_event(
        tenant_id=agent.tenant_id,
        action=action,
        actor=actor,
        subject_kind="agent",
        subject_id=agent.agent_id,
        reason=reason,
        data=data,
    )
