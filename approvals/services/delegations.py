"""Delegation and out-of-office: given with dates, never passed on, ended at will."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from approvals.eligibility import VOTING_ROLE
from approvals.models import Delegation
from audit.services import record_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.access import roles_of
from contextos.identity.actors import require_authority
from contextos.identity.models import User

LONGEST = timedelta(days=92)


@transaction.atomic
def delegate(
    *,
    tenant_id: str,
    giver: User,
    stand_in: User,
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    actor: Actor,
    gates: Sequence[str] = (),
) -> Delegation:
    """Let somebody else vote in the giver's name for a while."""
    require_authority(actor, tenant_id)
    _require_giver(actor, giver, stand_in)
    _require_sound(tenant_id, giver, stand_in, starts_at, ends_at, reason)
    _refuse_chain(tenant_id, giver, stand_in, starts_at, ends_at)
    made = Delegation.objects.create(
        delegation_id=new_id("dlg"),
        tenant_id=tenant_id,
        giver=giver,
        stand_in=stand_in,
        gates=sorted(set(gates)),
        starts_at=starts_at,
        ends_at=ends_at,
        reason=reason.strip()[:500],
        created_at=utcnow(),
    )
    _record(made, "given", actor)
    return made


@transaction.atomic
def revoke(*, delegation_id: str, tenant_id: str, actor: Actor) -> Delegation:
    """End it now; votes given before stay."""
    require_authority(actor, tenant_id)
    rows = Delegation.objects.filter(pk=delegation_id, tenant_id=tenant_id)
    if rows.filter(revoked_at__isnull=True).update(revoked_at=utcnow()):
        _record(rows.get(), "revoked", actor)
    return rows.get()


def _require_giver(actor: Actor, giver: User, stand_in: User) -> None:
    """Whoever enters it for somebody else, as admins do, gains no vote by it."""
    if actor.kind == "user" and actor.id != giver.user_id and actor.id == stand_in.user_id:
        raise coded_error(
            "delegation.invalid", message="Nobody makes themselves a stand-in for somebody else."
        )


def _require_sound(
    tenant_id: str, giver: User, stand_in: User, start: datetime, end: datetime, reason: str
) -> None:
    problem = None
    if giver.pk == stand_in.pk:
        problem = "Nobody stands in for themselves."
    elif not start < end or end - start > LONGEST:
        problem = f"It needs a start before its end, {LONGEST.days} days apart at most."
    elif not reason.strip():
        problem = "A reason is needed."
    else:
        for user in (giver, stand_in):
            if VOTING_ROLE not in roles_of(user, tenant_id):
                problem = f"{user} is no approver of this tenant."
    if problem:
        raise coded_error("delegation.invalid", message=problem)


def _refuse_chain(
    tenant_id: str, giver: User, stand_in: User, start: datetime, end: datetime
) -> None:
    """In the same time nobody both gives and stands in."""
    overlapping = Delegation.objects.filter(
        tenant_id=tenant_id, revoked_at__isnull=True, starts_at__lt=end, ends_at__gt=start
    )
    if overlapping.filter(Q(stand_in=giver) | Q(giver=stand_in)).exists():
        raise coded_error("delegation.chain")


def _record(delegation: Delegation, word: str, actor: Actor) -> None:
    record_event(
        tenant_id=delegation.tenant_id,
        action=f"delegation.{word}",
        actor=actor,
        subject_kind="delegation",
        subject_id=delegation.pk,
        reason=delegation.reason,
        data={
            "giver": delegation.giver.user_id,
            "stand_in": delegation.stand_in.user_id,
            "gates": delegation.gates,
            "starts_at": format_time(delegation.starts_at),
            "ends_at": format_time(delegation.ends_at),
        },
    )
