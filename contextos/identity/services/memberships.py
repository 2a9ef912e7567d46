"""Granting, bounding and revoking roles."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction

from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority
from contextos.identity.changes import apply_changes, lock, plain
from contextos.identity.events import record_event
from contextos.identity.models import Membership, Tenant, User
from contextos.identity.roles import ROLES, TIME_BOUNDED


@transaction.atomic
def grant_role(
    *,
    user: User,
    tenant_id: str,
    role: str,
    actor: Actor,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    reason: str = "",
) -> Membership:
    """Give somebody a role in a tenant; one that has ended may be given again."""
    require_authority(actor, tenant_id)
    _refuse_self_service(actor, user)
    _require_end_date(role, valid_until)
    tenant = lock(Tenant, tenant_id)  # serialises two grants of the same role
    membership = _ended(user, tenant_id, role) or Membership(
        user=user, tenant=tenant, role=_group(role)
    )
    membership.valid_from, membership.valid_until = valid_from, valid_until
    membership.granted_by = actor.id
    membership.full_clean()
    membership.save()
    _record(membership, "identity.role.granted", actor, reason=reason, data=_term(membership))
    return membership


@transaction.atomic
def change_role_term(
    *,
    membership_id: int,
    actor: Actor,
    valid_from: datetime | None,
    valid_until: datetime | None,
    reason: str = "",
) -> Membership:
    """Set when a role begins and ends."""
    membership = lock(Membership, membership_id)
    require_authority(actor, membership.tenant_id)
    _refuse_self_service(actor, membership.user)
    _require_end_date(membership.role.name, valid_until)
    changes = apply_changes(membership, valid_from=valid_from, valid_until=valid_until)
    if changes:
        data = {"role": membership.role.name, **changes}
        _record(membership, "identity.role.changed", actor, reason=reason, data=data)
    return membership


@transaction.atomic
def revoke_role(*, membership_id: int, actor: Actor, reason: str = "") -> None:
    """Take a role away; it counts from the next request and the next call on."""
    membership = lock(Membership, membership_id)
    require_authority(actor, membership.tenant_id)
    _record(membership, "identity.role.revoked", actor, reason=reason, data=_term(membership))
    membership.delete()


def _refuse_self_service(actor: Actor, user: User) -> None:
    if actor.kind == "user" and actor.id == user.user_id:
        raise coded_error("role.self_grant")


def _require_end_date(role: str, valid_until: datetime | None) -> None:
    if role not in ROLES:
        raise coded_error("role.unknown", data={"role": role})
    if role in TIME_BOUNDED and valid_until is None:
        raise coded_error("role.end_date_needed")


def _group(role: str) -> Group:
    return Group.objects.get(name=role)


def _ended(user: User, tenant_id: str, role: str) -> Membership | None:
    held = Membership.objects.select_for_update().filter(
        user=user, tenant_id=tenant_id, role__name=role
    )
    membership = held.first()
    if membership is not None and membership.state != "ended":
        raise coded_error("role.already_held", data={"role": role})
    return membership


def _term(membership: Membership) -> dict[str, Any]:
    return {
        "role": membership.role.name,
        "valid_from": plain(membership.valid_from),
        "valid_until": plain(membership.valid_until),
    }


def _record(
    membership: Membership, action: str, actor: Actor, *, reason: str, data: dict[str, Any]
) -> None:
    record_event(
        tenant_id=membership.tenant_id,
        action=action,
        actor=actor,
        subject_kind="user",
        subject_id=membership.user.user_id,
        reason=reason,
        data={"username": membership.user.username, **data},
    )
