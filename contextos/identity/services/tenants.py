"""Changes to tenants and their environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from contextos.core.events import PLATFORM_TENANT, Actor
from contextos.identity.actors import require_authority
from contextos.identity.changes import apply_changes, lock
from contextos.identity.events import record_event
from contextos.identity.models import Environment, Tenant
from contextos.identity.models.tenants import RUN_LIMITS, EnvironmentName


@transaction.atomic
def create_tenant(
    *,
    tenant_id: str,
    name: str,
    actor: Actor,
    default_environment: str = EnvironmentName.DEVELOPMENT.value,
) -> Tenant:
    """A new tenant with its default environment; no tenant's own actor can make another."""
    require_authority(actor, tenant_id)
    if tenant_id == PLATFORM_TENANT:
        raise ValidationError({"tenant_id": "This name is kept for the installation itself."})
    tenant = Tenant(tenant_id=tenant_id, name=name, default_environment=default_environment)
    tenant.full_clean()
    tenant.save(force_insert=True)
    _record(tenant, "identity.tenant.created", actor, data={"name": name})
    add_environment(tenant_id=tenant_id, name=default_environment, actor=actor)
    return tenant


@transaction.atomic
def update_tenant(*, tenant_id: str, actor: Actor, name: str, default_environment: str) -> Tenant:
    """Rename a tenant or choose another default environment."""
    require_authority(actor, tenant_id)
    tenant = lock(Tenant, tenant_id)
    changes = apply_changes(tenant, name=name, default_environment=default_environment)
    if changes:
        _record(tenant, "identity.tenant.changed", actor, data=changes)
    return tenant


@transaction.atomic
def set_run_limits(*, tenant_id: str, actor: Actor, limits: Mapping[str, int | None]) -> Tenant:
    """What runs of the tenant get, and may ask for at most; None = as the installation has it."""
    require_authority(actor, tenant_id)
    tenant = lock(Tenant, tenant_id)
    changes = apply_changes(tenant, **{name: limits[name] for name in RUN_LIMITS if name in limits})
    if changes:
        _record(tenant, "identity.tenant.run_limits_set", actor, data=changes)
    return tenant


@transaction.atomic
def set_tenant_active(*, tenant_id: str, active: bool, actor: Actor, reason: str = "") -> Tenant:
    """Switch a tenant off or on; off, nobody signs in and no token of it is accepted."""
    require_authority(actor, tenant_id)
    tenant = lock(Tenant, tenant_id)
    if apply_changes(tenant, is_active=active):
        verb = "activated" if active else "deactivated"
        _record(tenant, f"identity.tenant.{verb}", actor, reason=reason)
    return tenant


@transaction.atomic
def add_environment(*, tenant_id: str, name: str, actor: Actor) -> Environment:
    """Let a tenant use one more of the four environments."""
    require_authority(actor, tenant_id)
    environment = Environment(tenant=lock(Tenant, tenant_id), name=name)
    environment.full_clean()
    environment.save(force_insert=True)
    _record_environment(environment, "identity.environment.added", actor)
    return environment


@transaction.atomic
def set_environment_active(
    *, environment_id: int, active: bool, actor: Actor, reason: str = ""
) -> Environment:
    """Switch an environment off or on."""
    environment = lock(Environment, environment_id)
    require_authority(actor, environment.tenant_id)
    if apply_changes(environment, is_active=active):
        verb = "activated" if active else "deactivated"
        _record_environment(environment, f"identity.environment.{verb}", actor, reason=reason)
    return environment


def _record(
    tenant: Tenant,
    action: str,
    actor: Actor,
    *,
    reason: str = "",
    data: Mapping[str, Any] | None = None,
) -> None:
    record_event(
        tenant_id=tenant.pk,
        action=action,
        actor=actor,
        subject_kind="tenant",
        subject_id=tenant.pk,
        reason=reason,
        data=data,
    )


def _record_environment(
    environment: Environment, action: str, actor: Actor, *, reason: str = ""
) -> None:
    record_event(
        tenant_id=environment.tenant_id,
        action=action,
        actor=actor,
        subject_kind="environment",
        subject_id=environment.name,
        reason=reason,
    )
